"""Results of log searches: lines, exceptions, levels over time, new patterns, one trace."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from revelio.support.anomaly import count_deviation, explain, signal, split
from revelio.support.numbers import format_count
from revelio.tools.base import Scope
from revelio.tools.history import before_words
from revelio.tools.log_patterns import PROBLEMS, Lines
from revelio.types import ColumnRole, Entity, LogPattern, Result, Series

MAX_ROWS, MAX_MESSAGE = 50, 400
STRETCH_S = 5.0
LEAST_DISPERSION = 1.5
"""Lines come in bursts: their counts vary at least this many times as much as those of independent events."""

_COLUMNS = ("at", "level", "service", "message", "error", "origin", "trace")
_ROLES: tuple[ColumnRole, ...] = ("at", "level", "service", "message", "error_type", "origin", "trace_id")


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of lines in the baseline and in the window."""

    before: float
    now: float

    def distance(self, scope: Scope) -> float:
        """In Poisson σ, positive when there are more now."""
        return count_deviation(self.before, scope.baseline.seconds, self.now, scope.window.seconds)

    def words(self, scope: Scope, noun: str = "line") -> str:
        """For a summary."""
        return f"{format_count(self.now, noun)} in {scope.window.seconds:.0f} s, {self.before:,.0f} {before_words(scope)}"


def listed(lines: Lines, counts: Counts, scope: Scope) -> Result:
    """The lines themselves; the signal is how many more there are."""
    distance = counts.distance(scope)
    return Result(
        summary=counts.words(scope),
        signal=signal(distance),
        reason=explain(distance),
        kind="log_lines",
        columns=_COLUMNS,
        roles=_ROLES,
        rows=_rows(lines),
        truncated=counts.now > min(len(lines.lines), MAX_ROWS),
    )


def by_exception(lines: Lines, counts: Counts, scope: Scope) -> Result:
    """Exceptions by type and by the place in the code that logged them."""
    groups = Counter((line.source, line.error, line.origin) for line in lines.lines)
    example = {(line.source, line.error, line.origin): line.message[:MAX_MESSAGE] for line in lines.lines}
    distance = counts.distance(scope)
    top = groups.most_common(1)
    what = f", most often {top[0][0][1]} at {top[0][0][2] or 'an unknown line'}" if top else ""
    return Result(
        summary=counts.words(scope, "exception") + what,
        signal=signal(distance),
        reason=explain(distance),
        kind="exceptions",
        columns=("service", "exception", "logged at", "lines", "example"),
        roles=("service", "error_type", "origin", "count", "example"),
        rows=tuple((*key, number, example[key]) for key, number in groups.most_common(MAX_ROWS)),
        truncated=counts.now > len(lines.lines),
    )


def by_level(counts: Mapping[str, Mapping[float, float]], scope: Scope) -> Result:
    """Lines in every 5 s by level. Warnings and errors count when they increase, all lines when their rate changes either way."""
    first = math.ceil(scope.baseline.start / STRETCH_S) * STRETCH_S
    # Stretches that the window cuts off would look like a drop.
    times = tuple(first + i * STRETCH_S for i in range(int((scope.window.end - first) // STRETCH_S)))
    series = [
        Series(Entity("log_level", level), "lines in 5 s", "lines", times, tuple(points.get(t, 0.0) for t in times))
        for level, points in sorted(counts.items())
    ]
    if not series:
        return Result("no log lines, neither now nor before", 0.0, "nothing to compare", kind="series")
    everything = [sum(values) for values in zip(*(s.values for s in series), strict=True)]
    before, now = split(times, everything, scope.baseline, scope.window)
    distances = {"lines": abs(_distance(before, now)) / math.sqrt(_dispersion(before))}
    for one in series:
        if one.entity.name in PROBLEMS:
            distances[one.entity.name] = _distance(*split(times, one.values, scope.baseline, scope.window))
    worst = max(distances, key=lambda name: distances[name])
    was = f"{_mean(before) / STRETCH_S:.1f} before" if before else "no history before"
    return Result(
        summary=f"{_mean(now) / STRETCH_S:.1f} lines a second now, {was}",
        signal=signal(distances[worst]),
        reason=explain(distances[worst], worst),
        series=tuple(series),
        kind="series",
    )


def new_patterns(patterns: Sequence[LogPattern], scope: Scope) -> Result:
    """Patterns that are not in the baseline. Only warnings and errors among them raise the signal."""
    new = [p for p in patterns if p.baseline_count == 0 and p.count > 0]
    lines: dict[bool, int] = defaultdict(int)
    for pattern in new:
        lines[pattern.level in PROBLEMS] += pattern.count
    distance = count_deviation(0, scope.baseline.seconds, lines[True], scope.window.seconds)
    if scope.baseline.seconds <= 0:
        return Result("nothing was recorded before, so no pattern can be new", 0.0, "no history", kind="log_patterns")
    return Result(
        summary=f"{format_count(len(new), 'new pattern')}, {format_count(lines[True], 'line')} of them warnings or errors",
        signal=signal(distance),
        reason=f"{format_count(lines[True], 'new problem line')}" if lines[True] else "no new warning or error",
        kind="log_patterns",
        columns=("service", "level", "pattern", "lines", "first seen", "example"),
        roles=("service", "level", "pattern", "count", "first_seen", "example"),
        rows=tuple((p.entity.name, p.level, p.pattern, p.count, p.first_seen, p.example) for p in new[:MAX_ROWS]),
        truncated=len(new) > MAX_ROWS,
    )


def of_trace(trace: str, found: Lines, counts: Counts, scope: Scope) -> Result:
    """All lines of one failed request, oldest first; the signal is how many more requests fail."""
    ordered = Lines(tuple(sorted(found.lines, key=lambda line: line.at)), found.total)
    sources = sorted({line.source for line in ordered.lines})
    distance = counts.distance(scope)
    return Result(
        summary=f"trace {trace[:16]}: {format_count(len(ordered.lines), 'line')} of {', '.join(sources)}; {counts.words(scope)}",
        signal=signal(distance),
        reason=explain(distance),
        kind="log_lines",
        columns=_COLUMNS,
        roles=_ROLES,
        rows=_rows(ordered),
        truncated=found.total > min(len(ordered.lines), MAX_ROWS),
    )


def _rows(lines: Lines) -> tuple[tuple[str | float | None, ...], ...]:
    return tuple(
        (line.at, line.level, line.source, line.message[:MAX_MESSAGE], line.error, line.origin, line.trace)
        for line in lines.lines[:MAX_ROWS]
    )


def _distance(before: Sequence[float], now: Sequence[float]) -> float:
    """Counts in stretches of 5 s, then and now."""
    return count_deviation(sum(before), len(before) * STRETCH_S, sum(now), len(now) * STRETCH_S)


def _dispersion(counts: Sequence[float]) -> float:
    """Variance of counts over their mean; 1 for independent events."""
    mean = _mean(counts)
    return max(LEAST_DISPERSION, _mean([(c - mean) ** 2 for c in counts]) / mean) if mean > 0 else LEAST_DISPERSION


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
