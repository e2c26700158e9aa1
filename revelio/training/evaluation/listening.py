"""Whether a model listens: what its first query is with the report, without it, with another one, and with nonsense.

Two faults at once are the test. There telemetry cannot tell which one a user means: the report has to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from revelio.catalog import Catalog
from revelio.systems.incidents.dataset import TEST_WRITERS, LabelledIncident
from revelio.training.evaluation.method import Example, Method
from revelio.training.evaluation.metrics import Outcome, mean_interval, outcome
from revelio.training.evaluation.results import Interval
from revelio.training.evaluation.runner import Case, Progress, case
from revelio.training.superpose import superposed

NONSENSE = ("qwrtz xx 17", "Something is wrong, please look into it.")
"""Reports without content: no word at all, and words that complain of nothing."""
UNSEEN = "new_app"
"""The split of the application that no training saw; its incidents are superposed for a test."""


@dataclass(frozen=True, slots=True)
class Listening:
    """Figures of one set of incidents, each with the same weight; shares in [0, 1].

    ``top1`` and ``top3`` are with the report, the same ``without`` one and with that of the ``other`` fault (None where there is
    no other). ``follows`` is the share of pairs whose first query is right for either report. ``nonsense_same`` is the share of
    incidents whose first query with nonsense is that without a report, ``confidence`` the mean probability of the first query.
    """

    name: str
    incidents: int
    top1: float
    top1_ci95: Interval
    top3: float
    without_top1: float
    without_top3: float
    other_top1: float | None
    follows: float | None
    nonsense_same: float
    confidence: float
    nonsense_confidence: float

    @property
    def worth(self) -> float:
        """What the report adds to top-1."""
        return self.top1 - self.without_top1


@dataclass(frozen=True, slots=True)
class _Asked:
    """An incident with its reports, and the same evidence with the reports and labels of another fault."""

    examples: tuple[Example, ...]
    others: tuple[Example, ...] = ()


def listening(
    recorded: Iterable[LabelledIncident],
    unseen: Iterable[LabelledIncident],
    catalog: Catalog,
    method: Method,
    progress: Progress = lambda what, done, total: None,
) -> tuple[Listening, ...]:
    """Figures of recorded runs of two faults, of superposed incidents of an application that training never saw, and of these
    incidents one by one."""
    alone = list(unseen)
    single = (case(one, catalog) for one in alone)
    sets = {
        "two at once, recorded": list(_recorded(recorded, catalog)),
        "two at once, superposed": list(_superposed(alone, catalog)),
        "one fault": [_Asked(c.examples) for c in single if c.findable],
    }
    total, done, found = sum(map(len, sets.values())), 0, []
    for name, some in sets.items():
        rows = []
        for one in some:
            progress("listen", done, total)
            rows.append(_row(one, method))
            done += 1
        if rows:
            found.append(_figures(name, rows))
    progress("listen", total, total)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Row:
    """Of one incident, each share the mean over its reports."""

    top1: float
    top3: float
    without: tuple[float, float]
    other: float | None
    follows: float | None
    same: float
    confidence: float
    nonsense_confidence: float


def _recorded(recorded: Iterable[LabelledIncident], catalog: Catalog) -> Iterator[_Asked]:
    runs: dict[str, list[Case]] = defaultdict(list)
    for labelled in recorded:
        if labelled.record.run and (found := case(labelled, catalog)).findable:
            runs[labelled.record.run].append(found)
    for cases in runs.values():
        for one in cases if len(cases) > 1 else ():
            yield _Asked(one.examples, tuple(e for other in cases if other is not one for e in other.examples))


def _superposed(alone: Sequence[LabelledIncident], catalog: Catalog) -> Iterator[_Asked]:
    """Each incident with one other, by reports of test writers."""
    tested = {x.record.id: _by_test_writers(x) for x in alone}
    for both in superposed(tested.values()):
        mine, other = case(both.incident, catalog), case(tested[both.parts[1]], catalog)
        if mine.findable and other.findable:
            asked = mine.examples[0]
            grade = dict(zip(other.examples[0].queries, other.examples[0].grades.tolist(), strict=True))
            grades = np.array([grade.get(q, 0) for q in asked.queries], dtype=np.int64)
            reports = [e.incident.report for e in other.examples]
            turned = (replace(asked, incident=replace(asked.incident, report=r), grades=grades) for r in reports)
            yield _Asked(mine.examples, tuple(turned))


def _by_test_writers(labelled: LabelledIncident) -> LabelledIncident:
    record = labelled.record
    reports = tuple(r for r in record.reports if r.writer in TEST_WRITERS) or record.reports
    return replace(labelled, record=replace(record, reports=reports))


def _row(asked: _Asked, method: Method) -> _Row:
    said = _scorer(method)
    first = asked.examples[0]
    own = [said(e, e.incident.report) for e in asked.examples]
    silent, nonsense = said(first, ""), [said(first, text) for text in NONSENSE]
    swapped = [said(first, e.incident.report) for e in asked.others]
    turned = [said(e, e.incident.report) for e in asked.others]
    right = float(np.mean([o.rank == 1 for o in own]))
    return _Row(
        top1=right,
        top3=float(np.mean([o.rank <= 3 for o in own])),
        without=(float(silent.rank == 1), float(silent.rank <= 3)),
        other=float(np.mean([o.rank == 1 for o in swapped])) if swapped else None,
        follows=right * float(np.mean([o.rank == 1 for o in turned])) if turned else None,
        same=float(np.mean([o.first[:1] == silent.first[:1] for o in nonsense])),
        confidence=float(np.mean([o.confidence for o in own])),
        nonsense_confidence=float(np.mean([o.confidence for o in nonsense])),
    )


def _scorer(method: Method) -> Callable[[Example, str], Outcome]:
    def said(example: Example, report: str) -> Outcome:
        asked = replace(example, incident=replace(example.incident, report=report))
        return outcome(asked, method.score(asked.incident, asked.queries))

    return said


def _figures(name: str, rows: Sequence[_Row]) -> Listening:
    def mean(values: Iterable[float | None]) -> float | None:
        known = [v for v in values if v is not None]
        return float(np.mean(known)) if known else None

    first = np.array([r.top1 for r in rows])
    return Listening(
        name=name,
        incidents=len(rows),
        top1=float(first.mean()),
        top1_ci95=mean_interval(first),
        top3=float(np.mean([r.top3 for r in rows])),
        without_top1=float(np.mean([r.without[0] for r in rows])),
        without_top3=float(np.mean([r.without[1] for r in rows])),
        other_top1=mean(r.other for r in rows),
        follows=mean(r.follows for r in rows),
        nonsense_same=float(np.mean([r.same for r in rows])),
        confidence=float(np.mean([r.confidence for r in rows])),
        nonsense_confidence=float(np.mean([r.nonsense_confidence for r in rows])),
    )
