"""How far the evidence supports the claim that nothing is wrong: it is a claim about what was seen."""

from __future__ import annotations

from statistics import median

from revelio.anomaly import split
from revelio.conventions import signals
from revelio.onset import USER_FACING
from revelio.types import Entity, Evidence, Series

PRESENCE = frozenset(
    {
        "up",
        "db_up",
        "cache_up",
        "broker_up",
        "db_has_leader",
        "probe_failing",
        "backend_down",
        "node_not_ready",
        "replicas_unavailable",
        "pods_not_ready",
    }
)
"""Signals that say whether something is there and answers: no spread of theirs is normal."""

DOWN = 0.2
"""The most while something does not answer that did before."""

_LAST = 3
"""Samples that say how it is now."""

BLIND_SHARE = 0.4
"""What a look at everything but what users feel counts for."""


def supported(no_fault: float, evidence: Evidence) -> float:
    """The probability of no fault, drawn towards one half by the share of the system that could not be seen.

    Sources that did not answer count in full. So do, by most of their weight, signals that users feel where there are none:
    no rate, error, latency, span or log line. Recordings that do not say what was seen are taken to have seen everything. A
    probability that speaks for a fault stays: to see less is no sign of health. While something that answered before does
    not answer now, there is a fault.
    """
    if evidence.sources is None or no_fault <= DOWN:
        return no_fault
    if gone(evidence):
        return DOWN
    if no_fault <= 0.5:
        return no_fault
    asked = len(evidence.sources) + len(evidence.missing)
    share = len(evidence.sources) / asked if asked and evidence.shows else 0.0
    felt = evidence.spans or evidence.logs or any(s.metric in USER_FACING and s.metric != "up" for s in evidence.series)
    return 0.5 + (no_fault - 0.5) * share * (1.0 if felt else BLIND_SHARE)


def gone(evidence: Evidence) -> tuple[Entity, ...]:
    """What does not answer now and did before."""
    return tuple(dict.fromkeys(s.entity for s in evidence.series if s.metric in PRESENCE and _worse(s, evidence)))


def _worse(series: Series, evidence: Evidence) -> bool:
    before, now = split(series.times, series.values, evidence.baseline, evidence.window)
    if not before or not now:
        return False
    change = median(now[-_LAST:]) - median(before)
    return (-change if signals()[series.metric].direction == "down" else change) >= 0.5
