"""Templates and figures as text, for the text encoder."""

from __future__ import annotations

import re
from functools import lru_cache

from revelio.encoders.evidence import Figure
from revelio.types import QueryTemplate

_SPANS = {
    "p95_ms": "latency of slow spans",
    "median_ms": "usual latency of spans",
    "self_ms": "own time of spans",
    "errors": "failed spans",
    "count": "number of calls",
}
_LOGS = {
    "": "log lines",
    "problems": "error and warning log lines",
    "new": "new log lines",
    "new_problems": "new error log lines",
}


_ENDINGS = ("ing", "ed", "es", "s", "ility", "able", "ly", "e")


@lru_cache(maxsize=10_000)
def template_words(template: QueryTemplate) -> str:
    """A template as a sentence, its placeholders named by their blanks."""
    return re.sub(r"\$\{(\w+)\}", r"the \1", f"{template.title}. {template.shows}".strip())


def callable_words(template: QueryTemplate) -> str:
    """The same with the names of tool and template, the most telling words of a callable function."""
    names = dict.fromkeys(_plain(f"{template.tool} {template.id}").split())
    return f"{' '.join(names)}. {template_words(template)}"


def figure_words(figure: Figure) -> str:
    """A figure in words, by its source and metric."""
    source, metric = figure
    if source == "spans":
        return _SPANS.get(metric, _plain(metric))
    if source == "logs":
        return _LOGS.get(metric, f"{_plain(metric)} log lines")
    if source == "changes":
        return f"{_plain(metric)} changed" if metric else "events and changes"
    return _plain(metric)


@lru_cache(maxsize=10_000)
def plain_words(text: str) -> frozenset[str]:
    """The words of a text without common endings: "availability" and "available" are one."""
    return frozenset(_stem(word) for word in re.findall(r"[a-z]{3,}", text.lower()))


def _stem(word: str) -> str:
    return next((word[: -len(e)] for e in _ENDINGS if len(word) > len(e) + 3 and word.endswith(e)), word)


def _plain(name: str) -> str:
    """``memoryUsage_MB`` as ``memory usage mb``."""
    return " ".join(re.sub(r"[\W_]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)).lower().split())
