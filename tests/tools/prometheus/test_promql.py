"""PromQL text: whatever a name holds, the query's structure stays the template's."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from revelio.catalog.conventions import recorded_profile
from revelio.catalog.conventions.rendering import SEPARATOR, overview
from revelio.errors import SourceError
from revelio.tools.prometheus import promql
from revelio.types import Blank, Query, QueryTemplate
from tests.tools.conftest import SCOPE, filled, hostile

_STRING = re.compile(r'"((?:\\.|[^"\\])*)"', re.DOTALL)


def _structure(text: str) -> str:
    """The query with every string emptied."""
    return _STRING.sub('""', text)


def _strings(text: str) -> list[str]:
    """The strings as Prometheus (Go) reads them."""

    def unquoted(raw: str) -> str:
        simple = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}
        return re.sub(
            r"\\(u[0-9a-f]{4}|.)", lambda m: chr(int(m[1][1:], 16)) if len(m[1]) > 1 else simple[m[1]], raw, flags=re.DOTALL
        )

    return [unquoted(m[1]) for m in _STRING.finditer(text)]


@given(hostile())
def test_no_name_changes_the_structure_of_any_template(name: str) -> None:
    for harmless, query in zip(filled("prometheus", "cart"), filled("prometheus", name), strict=True):
        text = promql.render(query, SCOPE, recorded_profile())
        assert _structure(text) == _structure(promql.render(harmless, SCOPE, recorded_profile())), query.template.id
        assert "\n" not in "".join(m[0] for m in _STRING.finditer(text))
        told, strings = name.encode("utf-8", errors="replace").decode(), set(_strings(text))
        assert told in strings or set(told.split(SEPARATOR, 1)) <= strings or not query.bindings


def _query(body: str, **bindings: str) -> Query:
    template = QueryTemplate("t", "prometheus", "t", "", body, tuple(Blank(n, "service") for n in bindings))
    return Query(template, tuple(sorted(bindings.items())))


@given(hostile())
def test_a_regex_matcher_gets_the_name_as_a_literal(name: str) -> None:
    text = promql.filled(_query('up{service=~"${service}"}', service=name), SCOPE)
    [inner] = _strings(text)
    assert re.fullmatch(inner, name.encode("utf-8", errors="replace").decode(), re.DOTALL)


@pytest.mark.parametrize("body", ["up{service=${service}}", "up{service='${service}'}", "up{service=`${service}`}", "${service}"])
def test_a_hole_outside_double_quotes_is_refused(body: str) -> None:
    with pytest.raises(SourceError, match="inside double quotes"):
        promql.filled(_query(body, service="cart"), SCOPE)


def test_a_name_that_looks_like_a_hole_is_not_filled_again() -> None:
    text = promql.filled(_query('a{s="${service}",p="${peer}"}', service="${peer}", peer="redis"), SCOPE)
    assert text == 'a{s="${peer}",p="redis"}'


def test_lengths_of_window_and_baseline_can_stand_anywhere() -> None:
    assert (
        promql.filled(_query('rate(a{p="${project}"}[${window}]) - b[${baseline}]'), SCOPE) == 'rate(a{p="shop"}[30s]) - b[60s]'
    )


def test_every_bundled_template_leaves_no_hole_open() -> None:
    for query in filled("prometheus", "cart"):
        assert "${" not in promql.render(query, SCOPE, recorded_profile()), query.template.id
    for signal, pairs in recorded_profile().rules.items():
        for use, rule in pairs:
            assert "${" not in promql.filled(_query(overview(recorded_profile(), use, rule)), SCOPE), signal
