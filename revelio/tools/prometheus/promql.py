"""PromQL text: values go inside double quotes only, escaped as PromQL (Go) strings, for a matcher ``=~`` as a literal regex."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from revelio.catalog.conventions import Profile
from revelio.catalog.conventions.rendering import asked, expression, quoted
from revelio.errors import SourceError
from revelio.tools.base import Scope
from revelio.tools.placeholders import PLACEHOLDER, put, values
from revelio.tools.prometheus.open_series import OpenSeries
from revelio.types import Query, QueryTemplate

_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`|#[^\n]*', re.DOTALL)
OPEN = "open:"
"""The body of the template of open metrics starts so."""

_PLACED = re.compile(r'(\w+)=~"\$\{(\w+)\}"')
_AMBIENT_DURATIONS = frozenset({"window", "baseline"})


def render(query: Query, scope: Scope, profile: Profile, step_s: float = 0.0) -> str:
    """The query with every placeholder filled; ``SourceError`` when a placeholder stands where no value can be put safely.

    A template about signals is written in the conventions of the ``profile``, for points ``step_s`` seconds apart.
    """
    if query.template.body.startswith(OPEN):
        return open_series(OpenSeries.of(dict(query.bindings)["series"]), scope, profile, step_s)
    question = asked(query.template.body)
    if question is not None:
        written = expression(profile, question, dict(query.bindings), step_s)
        template = replace(query.template, body=written.text)
        query = Query(template, tuple(sorted((*query.bindings, *written.values))))
    elif query.template.origin is not None:
        query = replace(query, template=replace(query.template, body=in_profile(query.template.body, profile, step_s)))
    return filled(query, scope)


def open_series(one: OpenSeries, scope: Scope, profile: Profile, step_s: float) -> str:
    """The PromQL of a metric that no convention covers."""
    return filled(Query(QueryTemplate(OPEN, "prometheus", "", "", one.body(profile, step_s)), one.bindings), scope)


def in_profile(body: str, profile: Profile, step_s: float) -> str:
    """An imported body with the range of rates of this system, and its placeholders standing for all names of a component."""

    def matcher(found: re.Match[str]) -> str:
        naming = profile.identity.naming(found[1])
        pattern = naming.pattern("${" + found[2] + "}") if naming else "${" + found[2] + "}"
        return f'{found[1]}=~"{quoted(pattern)}"'

    text = _PLACED.sub(matcher, body)
    return text.replace("${rate_interval}", f"{profile.rate_interval_s(step_s):g}s")


def filled(query: Query, scope: Scope) -> str:
    """A query whose body is PromQL, with every placeholder filled."""
    body, filling = query.template.body, values(query, scope)
    bound = dict(query.bindings)
    parts: list[str] = []
    end = 0
    for token in _TOKEN.finditer(body):
        parts += [_outside(body[end : token.start()], bound, filling), _token(token[0], body[: token.start()], bound, filling)]
        end = token.end()
    return "".join([*parts, _outside(body[end:], bound, filling)]).strip()


def escaped(value: str) -> str:
    """A value as the inside of a double-quoted PromQL string."""
    return json.dumps(_encodable(value), ensure_ascii=False)[1:-1]


def _encodable(value: str) -> str:
    return value.encode("utf-8", errors="replace").decode("utf-8")


def _token(token: str, before: str, bound: dict[str, str], filling: dict[str, str]) -> str:
    if not token.startswith('"'):
        _refuse(token, bound)
        return token
    if before.rstrip().endswith("~"):
        return put(token, filling, lambda value: escaped(re.escape(_encodable(value))))
    return put(token, filling, escaped)


def _outside(text: str, bound: dict[str, str], filling: dict[str, str]) -> str:
    _refuse(text, bound)
    return put(text, {name: filling[name] for name in _AMBIENT_DURATIONS - bound.keys()})


def _refuse(text: str, bound: dict[str, str]) -> None:
    for placeholder in PLACEHOLDER.finditer(text):
        if placeholder[1] in bound or placeholder[1] == "project":
            raise SourceError(
                "prometheus", f'{placeholder[0]} has to stand inside double quotes, as in {{service="{placeholder[0]}"}}'
            )
