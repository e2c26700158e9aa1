"""Simulated incidents, one after the other: each a system of its own, how it is watched, and what goes wrong in it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from revelio.catalog.candidates import candidates, inventory
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.systems.incidents.exchange import FaultRecord, Label, Record, Report
from revelio.training.simulation import events, reports, telemetry
from revelio.training.simulation.dialect import Dialect, draw_dialect
from revelio.training.simulation.faults import Fault, Mechanism, draw_fault, mechanisms
from revelio.training.simulation.flow import Disturbance, Flow, Place, flow
from revelio.training.simulation.places import Watched, watched
from revelio.training.simulation.reports import Corpus
from revelio.training.simulation.system import System, draw_system
from revelio.training.simulation.truth import labels, truth
from revelio.types import Entity, Evidence, Query, StateChange, Window

NAME = "simulated"
"""What ids and systems of simulated incidents begin with."""
HEALTHY = 0.15
"""Share of incidents in which nothing is wrong."""
MOST_CANDIDATES = 1_200
_EPOCH, _YEAR = 1_790_000_000.0, 3.15e7
_TRIES = 8
_NUMBERS_OF_FAULTS = (1, 1, 2, 2, 3)


@dataclass(frozen=True, slots=True)
class Case:
    """A system, how it is watched, and the faults in it; the report is about the first. Healthy without any.

    ``seed`` determines everything else, such as noise.
    """

    seed: str
    system: System
    dialect: Dialect
    faults: tuple[Fault, ...]

    @property
    def window(self) -> Window:
        """The window of the incident."""
        start = _EPOCH + random.Random(f"{self.seed}/time").random() * _YEAR
        return Window(start, start + self.dialect.step * self.dialect.now)

    @property
    def baseline(self) -> Window:
        """What lies before it."""
        return Window(self.window.start - self.dialect.step * self.dialect.before, self.window.start)

    def flow(self, faults: Sequence[Fault]) -> Flow:
        """What flows under these faults."""
        together: dict[Place, tuple[Disturbance, ...]] = defaultdict(tuple)
        load = 1.0
        for fault in faults:
            load *= fault.load
            for place, some in fault.disturbances.items():
                together[place] += some
        return flow(self.system, together, load)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is seen of a case, and what belongs to which fault."""

    evidence: Evidence
    watched: tuple[Watched, ...]
    lines: tuple[events.Written, ...]
    changes: tuple[tuple[StateChange, int, int], ...]


def simulated(
    seed: int, count: int, texts: Corpus | None = None, *, held_out: bool = False, start: int = 0
) -> Iterator[LabelledIncident]:
    """``count`` incidents from number ``start`` on, each as determined by ``seed`` and its number.

    ``held_out`` ones have mechanisms and dialects that no others have. ``texts`` are what users write, beside plain frames.
    """
    for number in range(start, start + count):
        yield simulate(f"{seed}/{'held_out' if held_out else 'train'}/{number}", texts or Corpus(), held_out=held_out)


def simulate(seed: str, texts: Corpus, *, held_out: bool = False) -> LabelledIncident:
    """One incident. A fault that the dialect does not show is drawn again with another system."""
    for attempt in range(_TRIES):
        case = draw_case(f"{seed}/{attempt}", held_out=held_out)
        seen = observe(case)
        queries = _asked(case, seen.evidence)
        found = judged(case, seen, queries)
        if queries and (not case.faults or any(label.grade == 3 for label in found)):
            break
    else:
        case = replace(case, faults=())
        seen, found = observe(case), ()
    return _incident(seed, case, seen, queries, found, texts)


def draw_case(seed: str, *, held_out: bool = False) -> Case:
    """A system with up to three faults at different places."""
    rng = random.Random(f"{seed}/case")
    system = draw_system(random.Random(f"{seed}/system"), NAME)
    dialect = draw_dialect(random.Random(f"{seed}/dialect"), held_out=held_out)
    healthy = flow(system, {})
    known = [m for m in mechanisms().values() if not m.held_out]
    first: list[Mechanism] = [m for m in mechanisms().values() if m.held_out] if held_out else known
    faults: list[Fault] = []
    if rng.random() >= HEALTHY:
        for number in range(rng.choice(_NUMBERS_OF_FAULTS)):
            fault = draw_fault(rng, system, healthy, first if number == 0 else known, faults)
            if fault is None:
                break
            spoilt = {n for other in (*faults[1:], fault) for n in other.features}
            if not faults or set(faults[0].features) - spoilt:  # the report can tell which is meant
                faults.append(fault)
    return Case(seed, system, dialect, tuple(faults))


def observe(case: Case) -> Seen:
    """What the sources of the case's dialect show."""
    system, dialect, faults, window = case.system, case.dialect, case.faults, case.window
    lot = np.random.default_rng(random.Random(f"{case.seed}/noise").getrandbits(64))
    healthy, shown = case.flow(()), case.flow(faults)
    there = watched(system, dialect)
    course = telemetry.courses(faults, dialect.now, np.random.default_rng(random.Random(f"{case.seed}/course").getrandbits(64)))
    figures = telemetry.measured(there, dialect, faults, healthy, shown, random.Random(f"{case.seed}/figures"))
    series = telemetry.series(figures, course, dialect, window, case.baseline, lot)
    lines = events.written(system, faults, shown, random.Random(f"{case.seed}/lines")) if dialect.logs else ()
    usual = events.chatter(system, random.Random(f"{case.seed}/chatter")) if dialect.logs else ()
    some = tuple(telemetry.spans(there, healthy, shown, course, dialect, lot)) if dialect.traces else ()
    changed = events.changes(system, faults, window, dialect, random.Random(f"{case.seed}/changes"))
    begun = window.start + min((f.onset for f in faults), default=0.0) * window.seconds
    capture = (Entity("capture", "tcpdump"),) if dialect.packets else ()
    evidence = Evidence(
        window=window,
        baseline=case.baseline,
        entities=telemetry.entities(there, capture),
        series=() if dialect.summed else series,
        features=telemetry.summaries(series, dialect) if dialect.summed else (),
        logs=tuple(events.log_patterns(there, usual, lines, course, dialect, window, lot)),
        spans=telemetry.with_first_errors(some, begun),
        changes=tuple(c for c, _, _ in changed),
        sources=dialect.sources,
        history=() if dialect.log_history else (("logs", window.start),),
    )
    return Seen(evidence, there, lines, changed)


def _asked(case: Case, evidence: Evidence) -> tuple[Query, ...]:
    """The candidates; of too many, those of some templates."""
    queries = candidates(case.dialect.catalog, inventory(evidence))
    if len(queries) <= MOST_CANDIDATES:
        return queries
    rng = random.Random(f"{case.seed}/asked")
    share = MOST_CANDIDATES / len(queries)
    stays = {t: rng.random() < share for t in dict.fromkeys(q.template.id for q in queries)}
    return tuple(q for q in queries if stays[q.template.id])


def judged(case: Case, seen: Seen, queries: Sequence[Query]) -> tuple[Label, ...]:
    """The right answers to a report about the first fault."""
    if not case.faults:
        return ()
    first = case.faults[0]
    flows = case.flow(()), case.flow((first,))
    graded = truth(case.dialect, seen.watched, 0, first, flows, seen.lines, seen.changes)
    return labels(graded, queries, seen.evidence, case.dialect)


def _incident(
    seed: str, case: Case, seen: Seen, queries: tuple[Query, ...], found: tuple[Label, ...], texts: Corpus
) -> LabelledIncident:
    rng = random.Random(f"{case.seed}/report")
    first = case.faults[0] if case.faults else None
    record = Record(
        id=f"{NAME}-{seed.replace('/', '-')}",
        system=f"{NAME}-{seed.replace('/', '-')}",
        opened_at=case.window.end,
        evidence=seen.evidence,
        reports=(Report(_said(rng, case, texts)),),
        candidates=queries,
        labels=found,
        fault=_recorded(first) if first else FaultRecord("none", "control", "", ""),
        noise=tuple(_recorded(f) for f in case.faults[1:]),
        split="train",
    )
    return LabelledIncident(record, "train")


def _said(rng: random.Random, case: Case, texts: Corpus) -> str:
    """Users of a feature that the first fault spoils write, best of one that the others leave alone."""
    if not case.faults:
        feature = rng.choice(case.system.features)
        if rng.random() < 0.5:
            return reports.unrelated(rng, texts)
        symptom = rng.choice(("slow", "error", "flaky", "busy_spike", "missing_data"))
        return reports.complaint(rng, feature.said, feature.words.corpus, symptom, texts)
    first, *others = case.faults
    alone = [n for n in first.features if not any(n in f.features for f in others)]
    whole = len(first.features) > 0.7 * len(case.system.features) and rng.random() < 0.5
    feature = case.system.features[rng.choice(alone or first.features)]
    return reports.complaint(rng, feature.said, feature.words.corpus, rng.choice(first.mechanism.felt), texts, whole=whole)


def _recorded(fault: Fault) -> FaultRecord:
    place = fault.place if isinstance(fault.place, str) else "->".join(fault.place)
    return FaultRecord(fault.mechanism.name, "simulated", place, "", ())
