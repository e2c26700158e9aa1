"""Whether things are there and answer: read as on or off over the window, whatever tells it, and never averaged.

A store that was killed is 1 before and 0 now: a small figure beside what still runs, and yet the first suspect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray

from revelio.catalog.conventions import signals
from revelio.support.anomaly import SIGNIFICANT_SIGMA, count_deviation
from revelio.types import Entity, Evidence, LogPattern, Series, StateChange, Window

GONE_SIGMA = 10.0
"""The deviation of what was there and is not, in σ: certain, whatever share of the window it was gone for."""

_STEP = 0.5
"""A sample lies on the other side of on and off from this far from the usual value."""

_STATES = ("state", "answers")
"""Fields of changes that tell whether something is there."""

_STOPPED = re.compile(r"exited|paused|dead|failed|waiting: |cannot be placed|none of |no answer|out of memory")
_REFUSED = re.compile(
    r"connection refused|ECONNREFUSED|no such host|ENOTFOUND|EAI_AGAIN|name or service not known|no route to host|EHOSTUNREACH"
    r"|temporary failure in name resolution|could not translate host name|host is unreachable|marked (?:as )?down|is DOWN",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"(?:(?:lookup|host(?:name)?|getaddrinfo \w+|ENOTFOUND|EAI_AGAIN|server|upstream|backend|to|on)[ :=]+|//(?:[^@/\s]*@)?)"
    r"[\"'`]?(?P<named>[A-Za-z][\w.-]*)|\b(?P<addressed>[A-Za-z][\w.-]*):\d{2,5}\b"
)
"""Where a line names the host that it could not reach."""


@dataclass(frozen=True, slots=True)
class Absence:
    """Something that was there before and is not, from ``at`` on, ``until`` it was back; None while it lasts.

    ``told_by`` is the signal, the field of the change, or ``logs``; ``words`` say how it looks.
    """

    entity: Entity
    at: float
    until: float | None
    told_by: str
    words: str


def absences(evidence: Evidence) -> tuple[Absence, ...]:
    """What went away in the window, by signals of presence, by changes of state, and by refused connections in logs."""
    found = (*_by_series(evidence), *_by_changes(evidence), *_by_logs(evidence))
    return tuple(sorted(found, key=lambda a: (a.at, a.entity, a.told_by)))


def is_presence(metric: str) -> bool:
    """Whether a metric of a series is a signal of presence."""
    return metric in signals() and signals()[metric].presence


def off(series: Series, baseline: Window, window: Window) -> NDArray[np.bool_]:
    """Of each sample in the window, whether it was usually on and now is off; empty where either side has no sample."""
    usual = [v for t, v in zip(series.times, series.values, strict=True) if baseline.start <= t < baseline.end and np.isfinite(v)]
    now = [v for t, v in zip(series.times, series.values, strict=True) if window.start <= t <= window.end and np.isfinite(v)]
    if not usual or not now:
        return np.zeros(0, dtype=bool)
    change = np.asarray(now) - median(usual)
    return np.asarray((-change if signals()[series.metric].direction == "down" else change) >= _STEP)


def sigma(samples: NDArray[np.bool_]) -> float:
    """The deviation of samples that ``off`` told, in σ: one alone may be a scrape that came late, two in the window are none."""
    count = int(samples.sum())
    return GONE_SIGMA if count > 1 else SIGNIFICANT_SIGMA * count


def _by_series(evidence: Evidence) -> Iterator[Absence]:
    for one in evidence.series:
        if not is_presence(one.metric):
            continue
        samples = off(one, evidence.baseline, evidence.window)
        if sigma(samples) < GONE_SIGMA:
            continue
        at = [t for t, v in zip(one.times, one.values, strict=True) if _within(t, evidence.window) and np.isfinite(v)]
        first, last = int(samples.argmax()), len(samples) - 1 - int(samples[::-1].argmax())
        until = at[last + 1] if last + 1 < len(at) else None
        yield Absence(one.entity, at[first], until, one.metric, signals()[one.metric].meaning)


def _by_changes(evidence: Evidence) -> Iterator[Absence]:
    for one in evidence.changes:
        if one.field not in _STATES or not _STOPPED.match(one.after):
            continue
        started = [c.at for c in evidence.changes if c.entity == one.entity and _returned(c)]
        if one.after == "exited with code 0" and any(at < one.at for at in started):
            continue  # a job that ran and was done
        yield Absence(one.entity, one.at, min((at for at in started if at > one.at), default=None), one.field, one.after)


def _returned(change: StateChange) -> bool:
    return change.field == "started" or (change.field == "state" and change.after == "running")


def _by_logs(evidence: Evidence) -> Iterator[Absence]:
    """Components that others are refused by, as far as lines name them."""
    known = {e.name.casefold(): e for e in evidence.entities if e.kind != "log_source" and "->" not in e.name}
    also = {a.name.casefold(): known[a.entity.name.casefold()] for a in evidence.aliases if a.entity.name.casefold() in known}
    known = also | known
    past = evidence.baseline_of("logs").seconds
    for one in evidence.logs:
        if not one.count or not (said := _REFUSED.search(one.example or one.pattern)):
            continue
        if count_deviation(float(one.baseline_count), past, float(one.count), evidence.window.seconds) < SIGNIFICANT_SIGMA:
            continue
        for name in dict.fromkeys(_hosts(one)):
            if name in known and name != one.entity.name.casefold():
                at = max(one.first_seen, evidence.window.start)
                yield Absence(known[name], at, None, "logs", f"{said[0]}, says {one.entity.name}")


def _hosts(pattern: LogPattern) -> Iterator[str]:
    for found in _HOST.finditer(pattern.example or pattern.pattern):
        host = (found["named"] or found["addressed"]).casefold().strip(".")
        yield from (host, host.partition(".")[0])


def _within(at: float, window: Window) -> bool:
    return window.start <= at <= window.end
