"""Whether a run is worth recording, and the incidents that it gives: one for each fault, with what its own users noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fault_injection.campaigns.environment import Environment, Reporters
from fault_injection.campaigns.health import OK
from fault_injection.campaigns.plan import Run
from fault_injection.campaigns.record import Judged, Observation, labels_of
from fault_injection.inject import Injection
from fault_injection.kinds import kind_named
from fault_injection.labels import Accepted, Cause
from fault_injection.spec import Fault
from revelio.errors import RevelioError
from revelio.support.anomaly import SIGNIFICANT
from revelio.systems.incidents.exchange import Note
from revelio.types import Window
from testbed.users.corpus import SITE

NOT_TOLD_APART = "faults not told apart"
"""The stage at which a run of two faults is discarded because users do not feel each of them at features of its own."""


class DiscardedRunError(RevelioError):
    """A run that is not recorded. ``stage`` says where it failed, ``fault`` which one it is about where there are two."""

    def __init__(self, stage: str, reason: str, fault: Fault | None = None) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage
        self.reason = reason
        self.fault = fault


def judge(
    run: Run,
    injections: Sequence[Injection],
    seen: Observation,
    environment: Environment,
    accepted: Mapping[str, tuple[Accepted, ...]],
) -> tuple[Judged, ...]:
    """The incidents of a run, in the order in which their faults began. Raises ``DiscardedRunError``."""
    reporters, window = environment.reporters, seen.scope.window
    control = kind_named(run.fault.kind).category == "control"
    complaint = next(iter(reporters.complaints(seen.notes, window)), "")
    if control and complaint:
        raise DiscardedRunError("users felt a control", complaint)
    if not control and not complaint:
        raise DiscardedRunError("users did not feel it", f"{len(seen.notes)} visits noted")
    alone = len(injections) == 1
    notes = (seen.notes,) if alone else _told_apart(injections, seen, reporters)
    causes = [Cause(i.fault.place, accepted.get(i.fault.kind, ())) for i in injections]
    found = []
    for incident, injection, its, cause in zip(run.incidents, injections, notes, causes, strict=True):
        other = next((c for c in causes if c is not cause), None)
        labels = labels_of(seen.evidence, seen.results, cause, environment.app, environment.catalog, beside=other)
        if not control and not any(label.proven and label.grade == 3 for label in labels):
            reason = f"no label of grade 3 proven; there was: {_shown(seen)}"
            raise DiscardedRunError("no tool shows its cause", reason, injection.fault)
        reports = reporters.choose(its, window, run.split, incident, site_wide=alone)
        if not reports:
            raise DiscardedRunError("no matching report", f"no text fits {complaint or 'a quiet time'}", injection.fault)
        found.append(Judged(incident, injection, its, labels, reports))
    return tuple(found)


def _told_apart(
    injections: Sequence[Injection], seen: Observation, reporters: Reporters
) -> tuple[tuple[Note, ...], tuple[Note, ...]]:
    """What the users of either fault noted, before it and since.

    The first one's features are those complained of before the second one began; the second one's are those complained of
    since, which were well until then.
    """
    first, second = injections
    alone, both = Window(first.at, second.began), Window(second.at, seen.scope.window.end)
    hurt = _features(reporters.complaints(seen.notes, alone))
    touched = {n.feature for n in seen.notes if n.outcome != OK and first.at <= n.at + n.seconds <= second.at}
    new = _features(reporters.complaints(seen.notes, both)) - hurt - touched
    if not hurt or not new:
        words = " and ".join(", ".join(sorted(features)) or "nothing" for features in (hurt, new))
        raise DiscardedRunError(NOT_TOLD_APART, f"the first hurt {words} came with the second")
    early = (n for n in seen.notes if n.feature in hurt and n.at + n.seconds <= second.began)
    late = (n for n in seen.notes if n.feature in new and not first.began < n.at + n.seconds < second.at)
    return tuple(early), tuple(late)


def _features(complaints: Sequence[str]) -> set[str]:
    return {cell.split("/")[1] for cell in complaints} - {SITE}


def _shown(seen: Observation) -> str:
    """The queries that showed something new, to help correct the labels."""
    new = [r for r in seen.results if r.result.signal >= SIGNIFICANT > (r.healthy_signal or 0.0)]
    return ", ".join(f"{r.template}({' '.join(v for _, v in r.bindings)})" for r in new) or "nothing"
