"""Log lines that differ only in their variable parts, as one pattern.

Masked here, not mined by drain3: equal lines must give equal patterns in every window and in recorded incidents, which a
miner that learns from the stream does not promise.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from revelio.types import Entity, LogPattern

MAX_PATTERN, MAX_EXAMPLE = 240, 400
_WORDS = 3
"""Words that phrases need to speak of one pattern alone."""
_READ = 2_000
"""Characters of a message that are read."""

_MASKS = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"), "<time>"),
    (re.compile(r"\b\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d(?:\.\d+)?"), "<time>"),
    (re.compile(r'"[^"]{0,300}"|(?<!\w)\'[^\']{0,300}\'(?!\w)'), "<*>"),
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<id>"),
    (re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"), "<address>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"), "<ip>"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "<id>"),
    (re.compile(r"\b(?=[A-Za-z]*\d)[0-9A-Za-z]{8,}\b"), "<id>"),
    (re.compile(r"[-+]?\d+(?:[.,:]\d+)*"), "<n>"),
    (re.compile(r"\s+"), " "),
)

_LEVELS = {"WARN": "WARNING", "CRITICAL": "ERROR", "FATAL": "ERROR", "PANIC": "ERROR", "TRACE": "DEBUG", "": "INFO"}
PROBLEMS = ("WARNING", "ERROR")
"""Levels of problems."""


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One log line; ``at`` in Unix seconds."""

    at: float
    source: str
    level: str
    message: str
    trace: str = ""
    error: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one window. Counts have to be multiplied by ``scale`` where only the newest could be read."""

    lines: tuple[LogRecord, ...] = ()
    total: int = 0

    @property
    def scale(self) -> float:
        """How many lines each of these stands for."""
        return max(1.0, self.total / len(self.lines)) if self.lines else 1.0


def level_of(text: str) -> str:
    """A level's one name: DEBUG, INFO, WARNING or ERROR, whatever the logger calls it."""
    upper = text.strip().upper()
    return _LEVELS.get(upper, upper)


def mask(message: str, error: str = "") -> str:
    """The message's first line with its variable parts masked; the type of its error is part of the pattern."""
    text = next((part for part in message[:_READ].splitlines() if part.strip()), "").strip()
    for expression, name in _MASKS:
        text = expression.sub(name, text)
    if error and error not in text:
        text = f"{text[: MAX_PATTERN - len(error[:80]) - 3]} [{error[:80]}]"
    return text[:MAX_PATTERN]


_PLACEHOLDER = re.compile(r"\S*<(?:time|\*|id|address|ip|n)>\S*")
_ERROR_TYPE = re.compile(r" \[[\w.$]+\]$")


def phrases(pattern: str) -> tuple[str, ...]:
    """What every line of a pattern says word for word, by which a store can count them; empty where too little is."""
    whole = _ERROR_TYPE.sub("", pattern)
    if len(pattern) >= MAX_PATTERN:
        whole = whole.rpartition(" ")[0]
    said = tuple(part.strip() for part in _PLACEHOLDER.split(whole) if len(re.findall(r"\w+", part)) > 1)
    return said if sum(len(re.findall(r"\w+", part)) for part in said) >= _WORDS else ()


def recounted(patterns: Sequence[LogPattern], counts: Mapping[int, tuple[float, float]]) -> tuple[LogPattern, ...]:
    """The patterns, of some (by their place) with how many lines say their phrases in baseline and window, in order.

    Patterns of one component that have the same phrases share their counts as their samples do.
    """
    alike: dict[tuple[Entity, tuple[str, ...]], list[int]] = defaultdict(list)
    for i in counts:
        alike[patterns[i].entity, phrases(patterns[i].pattern)].append(i)
    known = dict(enumerate(patterns))
    for members in alike.values():
        sampled = [sum(patterns[i].baseline_count for i in members), sum(patterns[i].count for i in members)]
        for i in members:
            one, (before, now) = patterns[i], counts[i]
            shares = [
                part / max(of, 1) if of else 1.0 / len(members)
                for part, of in zip((one.baseline_count, one.count), sampled, strict=True)
            ]
            known[i] = replace(one, count=round(now * shares[1]), baseline_count=round(before * shares[0]))
    return ordered(known.values())


def ordered(patterns: Iterable[LogPattern]) -> tuple[LogPattern, ...]:
    """New problems first, then other problems, then the rest by count."""
    return tuple(
        sorted(patterns, key=lambda p: (p.level not in PROBLEMS, p.baseline_count > 0, -p.count, p.entity, p.level, p.pattern))
    )


def mine(before: Sequence[Lines], now: Sequence[Lines]) -> tuple[LogPattern, ...]:
    """Patterns of all lines with their counts then and now, in order. Lines without a source are left out."""
    counts: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    first: dict[tuple[str, str, str], LogRecord] = {}
    for side, parts in enumerate((before, now)):
        for part in parts:
            for line in part.lines:
                key = (line.source, line.level, mask(line.message, line.error))
                counts[key][side] += part.scale
                if key not in first or line.at < first[key].at:
                    first[key] = line
    found = [
        LogPattern(
            entity=Entity("log_source", source),
            level=level,
            pattern=pattern,
            count=round(count),
            baseline_count=round(past),
            first_seen=first[source, level, pattern].at,
            example=first[source, level, pattern].message[:MAX_EXAMPLE],
        )
        for (source, level, pattern), (past, count) in counts.items()
        if source
    ]
    return ordered(found)
