"""A search for log lines, as the catalog writes it, in LogQL."""

from __future__ import annotations

from collections.abc import Mapping

from revelio.tools.log_fields import ERRORS, EXCEPTION_WORDS, WARNINGS, canonical
from revelio.tools.log_patterns import phrases
from revelio.tools.loki.labels import Labels
from revelio.tools.loki.strings import regex, text
from revelio.tools.placeholders import Tree
from revelio.types import LogPattern

MARK = "revelio_pattern"
"""The label that tells the counts of patterns apart."""

_NAMES = {
    "ERROR": sorted(ERRORS),
    "WARNING": sorted(WARNINGS),
    "INFO": ["info", "information", "notice"],
    "DEBUG": ["debug", "trace"],
}


LETTER = "revelio_level"
"""The label that the letter of a klog line is read into."""

_LETTERS = {"ERROR": "EF", "WARNING": "W", "INFO": "I", "DEBUG": "D"}
_READ_LETTER = f"| regexp `^(?P<{LETTER}>[IWEFD])\\d{{4}} \\d\\d:\\d\\d:\\d\\d`"


class UnsaidError(Exception):
    """There is no LogQL for this clause; its text follows "the query"."""


def logql(query: Tree, labels: Labels) -> str:
    """The lines that a search finds. Raises ``UnsaidError``."""
    matchers: list[str] = []
    stages: list[str] = []
    _add(query, labels, matchers, stages, wanted=True)
    every = labels.any if not any(m.startswith(labels.component) for m in matchers) else labels.selector
    return " ".join(("{" + ", ".join(m for m in (every, *matchers) if m) + "}", *stages))


def levels(names: tuple[str, ...], labels: Labels, *, wanted: bool = True) -> str:
    """The stage that keeps the lines of these levels, or drops them.

    Where no label tells it, the words of a level are looked for, without regard to where they stand first: Loki is quick at that
    alone, and looks closer at what is left.
    """
    words = "|".join(name for level in names for name in _NAMES[level])
    sign = "=~" if wanted else "!~"
    if labels.level:
        told = f"{labels.level}{sign}{text(f'(?i)({words})')}"
        if not labels.letters:
            return f"| {told}"
        letters = "".join(_LETTERS[level] for level in names)
        return f"{_READ_LETTER} | {told} {'or' if wanted else 'and'} {LETTER}{sign}{text(f'[{letters}]')}"
    closely = text(f"(?i)(^|[^a-z])({words})([^a-z]|$)")
    return f"|~ {text(f'(?i)({words})')} |~ {closely}" if wanted else f"!~ {closely}"


def rates(said: str, labels: Labels, seconds: float) -> str:
    """How many lines there are of each level, every so many seconds."""
    by = [labels.level, *((LETTER,) if labels.letters else ())] if labels.level else []
    read = f" {_READ_LETTER}" if labels.letters and labels.level and LETTER not in said else ""
    return f"sum{f' by ({chr(44).join(by)})' if by else ''} (count_over_time({said}{read} [{seconds:g}s]))"


def pattern_counted(pattern: LogPattern, mark: str, labels: Labels, seconds: float) -> str:
    """How many lines of a pattern there were in the last seconds, with ``mark`` as the label ``MARK``."""
    selector = ", ".join(m for m in (labels.selector, labels.matcher(pattern.entity.name)) if m)
    said = " ".join(f"|= {text(phrase)}" for phrase in phrases(pattern.pattern))
    counted = f"sum(count_over_time({{{selector}}} {said} [{max(1, round(seconds))}s]))"
    return f'label_replace({counted}, "{MARK}", "{mark}", "", "")'


def _add(query: Tree, labels: Labels, matchers: list[str], stages: list[str], *, wanted: bool) -> None:
    name, body = _clause(query)
    if name == "match_all" and wanted:
        return
    if name == "bool" and wanted:
        _add_bool(body, labels, matchers, stages)
        return
    field, value = _pair(name, body)
    if field == "service.name" and name == "term" and wanted:
        matchers.append(labels.matcher(str(value)))
    elif field == "log.level" and name in ("term", "terms"):
        asked = dict.fromkeys(filter(None, map(canonical, map(str, value if isinstance(value, list) else [value]))))
        stages.append(levels(tuple(level for level in asked if level in _NAMES), labels, wanted=wanted))
    elif field == "trace.id" and name in ("term", "exists") and labels.trace:
        same, sign = ('""', "!=") if name == "exists" else (text(str(value)), "=")
        stages.append(f"| {labels.trace}{sign if wanted else {'=': '!=', '!=': '='}[sign]}{same}")
    elif field.replace(".", "_") in labels.known and name in ("term", "terms"):
        options = "|".join(regex(str(v)) for v in (value if isinstance(value, list) else [value]))
        stages.append(f"| {field.replace('.', '_')}{'=~' if wanted else '!~'}{text(options)}")
    else:
        stages.append(f"{'|~' if wanted else '!~'} {text(_words(name, field, value))}")


def _add_bool(body: Tree, labels: Labels, matchers: list[str], stages: list[str]) -> None:
    if not isinstance(body, Mapping) or not body.keys() <= {"filter", "must", "should", "must_not", "minimum_should_match"}:
        raise UnsaidError("uses a part of bool that LogQL cannot say")
    for key in ("filter", "must"):
        for part in _listed(body.get(key)):
            _add(part, labels, matchers, stages, wanted=True)
    for part in _listed(body.get("must_not")):
        _add(part, labels, matchers, stages, wanted=False)
    either = _listed(body.get("should"))
    if either:
        options = []
        for part in either:
            name, inner = _clause(part)
            options.append(_words(name, *_pair(name, inner)))
        stages.append(f"|~ {text('|'.join(options))}")


def _words(name: str, field: str, value: Tree) -> str:
    """The regular expression of a clause about what a line says."""
    if name == "exists" and field == "error.type":
        return EXCEPTION_WORDS
    if name == "exists" and field == "trace.id":
        return r"(?i)trace_?\.?id"
    if name == "term" and field == "trace.id":
        return regex(str(value))
    if name in ("match", "match_phrase", "term") and field in ("message", "error.type"):
        said = str(value)
        if name == "match":
            return "(?i)(" + "|".join(map(regex, said.split() or [""])) + ")"
        return "(?i)" + regex(said) if name == "match_phrase" else regex(said)
    raise UnsaidError(f"asks {name} of {field!r}, for which this Loki has no label")


def _clause(query: Tree) -> tuple[str, Tree]:
    if not isinstance(query, dict) or len(query) != 1:
        raise UnsaidError("has to be made of mappings with one clause each")
    [(name, body)] = query.items()
    return name, body


def _pair(name: str, body: Tree) -> tuple[str, Tree]:
    if not isinstance(body, dict) or len(body) != 1:
        raise UnsaidError(f"uses {name!r} in a form that LogQL cannot say")
    [(field, value)] = body.items()
    return (str(value), None) if name == "exists" else (field, value)


def _listed(node: Tree) -> list[Tree]:
    return node if isinstance(node, list) else [] if node is None else [node]
