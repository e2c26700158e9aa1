"""Levels of log lines: as values of a field, and as words of a message whose document has no such field."""

from __future__ import annotations

from revelio.tools.log_fields import ERRORS, WARNINGS
from revelio.tools.placeholders import Tree

_NAMES = {"ERROR": ERRORS, "WARNING": WARNINGS}
_NUMBERS = {"ERROR": (50, 60), "WARNING": (40,)}
"""Levels as pino and bunyan number them."""

_KLOG = {"ERROR": "[eEfF][01][0-9][0-3][0-9]", "WARNING": "[wW][01][0-9][0-3][0-9]"}
"""The first word of a line of klog: a letter, month and day."""

_OTHERS = {"ERROR": ("info", "debug", "trace", "notice", "warn", "warning"), "WARNING": ("info", "debug", "trace", "notice")}
"""Levels that a line which says one of them has, whatever else it mentions."""


def levels_in(level: str, *, numbers: bool) -> list[Tree]:
    """The values that a field has for a level, ERROR or WARNING."""
    if numbers:
        return [*_NUMBERS[level]]
    return [form for name in sorted(_NAMES[level]) for form in (name, name.upper(), name.capitalize())]


def said_at(level: str, message: str) -> Tree:
    """The documents whose ``message`` says a level: JSON or logfmt in it, klog, or a word of plain text."""
    words: list[Tree] = [{"match": {message: " ".join(sorted(_NAMES[level]))}}, {"regexp": {message: _KLOG[level]}}]
    words += [{"match_phrase": {message: f"level {number}"}} for number in _NUMBERS[level]]
    keys = ("level", "lvl", "severity")
    others: list[Tree] = [{"match_phrase": {message: f"{key} {other}"}} for key in keys for other in _OTHERS[level]]
    return {"bool": {"should": words, "minimum_should_match": 1, "must_not": others}}
