"""How far the evidence supports the claim that nothing is wrong: it is a claim about what was seen."""

from __future__ import annotations

from revelio.catalog.presence import absences
from revelio.support.onset import USER_FACING
from revelio.types import Entity, Evidence

DOWN = 0.2
"""The most while something does not answer that did before."""

_WORDS = {"series": "metrics", "spans": "traces"}

BLIND_SHARE = 0.4
"""What a look at everything but what users feel counts for."""


def supported(no_fault: float, evidence: Evidence) -> float:
    """The probability of no fault, drawn towards one half by the share of the system that could not be seen.

    Sources that did not answer count in full. So do, by most of their weight, signals that users feel where there are none:
    no rate, error, latency, span or log line; and so does a history that is shorter than the window. Recordings that do not
    say what was seen are taken to have seen everything. A probability that speaks for a fault stays: to see less is no sign of
    health. While something that answered before does not answer now, there is a fault.
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
    return 0.5 + (no_fault - 0.5) * share * (1.0 if felt else BLIND_SHARE) * _known_past(evidence)


def _known_past(evidence: Evidence) -> float:
    """The share of what a baseline has to hold, which is as much as the window, that the least known kind of evidence has."""
    observed = (evidence.baseline_of(source).seconds for source, _ in evidence.history)
    return min([1.0, *(seconds / max(evidence.window.seconds, 1e-9) for seconds in observed)])


def gone(evidence: Evidence) -> tuple[Entity, ...]:
    """What does not answer now and did before, by its own signals and state."""
    return tuple(dict.fromkeys(a.entity for a in absences(evidence) if a.until is None and a.told_by not in ("logs", "answers")))


def short_history(evidence: Evidence) -> tuple[str, ...]:
    """A sentence on each kind of evidence whose history is shorter than the window that is compared with it."""
    told = []
    for source, _ in evidence.history:
        seconds, window = evidence.baseline_of(source).seconds, evidence.window.seconds
        if seconds < window:
            known = f"only {seconds:.0f} s" if seconds > 0 else "nothing"
            kind = _WORDS.get(source, source)
            told.append(f"Of {kind}, {known} is known before the window of {window:.0f} s: what is usual is uncertain")
    return tuple(told)
