"""Scores every incident of a dataset with every method."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from revelio.catalog import Catalog
from revelio.catalog.candidates import candidates, inventory
from revelio.errors import DatasetError
from revelio.systems.incidents.dataset import SPLITS, TEST_WRITERS, Dataset, LabelledIncident
from revelio.systems.incidents.exchange import FaultRecord, Report
from revelio.training.evaluation import metrics
from revelio.training.evaluation.details import detail
from revelio.training.evaluation.errors import by_kind, missed
from revelio.training.evaluation.method import Baseline, Example, Floats, Method
from revelio.training.evaluation.metrics import Outcome
from revelio.training.evaluation.results import BySplit, ControlFigures, Evaluation, Failure, FaultFigures, Figures
from revelio.training.evaluation.runs import RunsCurve, runs_curve, together

TRAINING = "train"
CONTROLS = "no_fault"
ALL = "all"
"""The name of the curve over the incidents of all splits."""
TEST_SPLITS = tuple(s for s in SPLITS if s != TRAINING)
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Case:
    """One incident with an example for each report that its split may use."""

    id: str
    split: str
    examples: tuple[Example, ...]
    fault: FaultRecord | None = None

    @property
    def findable(self) -> bool:
        """Whether there is a proven query that shows the cause."""
        return bool(self.examples and (self.examples[0].grades == 3).any())


def prefixed(progress: Progress, prefix: str) -> Progress:
    """The same progress with a prefix, as part of a larger task."""
    return lambda what, done, total: progress(f"{prefix}: {what}", done, total)


def case(labelled: LabelledIncident, catalog: Catalog) -> Case:
    """The examples of an incident. Test splits use reports by test writers only, training the others, where there are both."""
    record = labelled.record
    queries = record.candidates or candidates(labelled.catalog or catalog, inventory(record.evidence))
    known = labelled.grades
    grades = np.array([known.get((q.template.id, q.bindings), 0) for q in queries], dtype=np.int64)
    testing = labelled.split != TRAINING
    fitting = [r for r in record.reports if (r.writer in TEST_WRITERS) == testing]
    reports = fitting or list(record.reports) or [Report("")]
    shown = {(r.template, r.bindings): r.result.signal for r in record.results}
    signals = np.array([shown.get((q.template.id, q.bindings), np.nan) for q in queries])
    examples = tuple(Example(record.incident(r.text), queries, grades, signals, r.writer) for r in reports)
    return Case(record.id, labelled.split, examples, record.fault)


def evaluate(
    dataset: Dataset,
    catalog: Catalog,
    method: Method,
    *,
    splits: Sequence[str] = (),
    baselines: Sequence[Baseline] = (),
    ablations: Sequence[Method] = (),
    runs: bool = False,
    leave_out: frozenset[str] = frozenset(),
    progress: Progress = lambda what, done, total: None,
    seen: Callable[[Evaluation], None] = lambda so_far: None,
) -> Evaluation:
    """Fit the baselines on the training split, then score these splits (default: all test splits).

    ``runs`` adds the number of runs until the cause is shown; incidents in ``leave_out`` are not scored. ``seen`` receives
    the results so far after each method. Raises ``DatasetError`` without an incident of these splits.
    """
    wanted = tuple(splits) or TEST_SPLITS
    cases = [case(x, catalog) for x in dataset.read(*wanted) if x.record.id not in leave_out]
    if not cases:
        raise DatasetError(f"{dataset.folder}: no incident in {', '.join(wanted)}; see `revelio campaign status`")
    if baselines:
        learn = [e for x in dataset.read(TRAINING) for e in case(x, catalog).examples]
        for index, baseline in enumerate(baselines):
            progress("fit baselines", index, len(baselines))
            baseline.fit(learn)
    failures: list[Failure] = []

    def run(one: Method) -> BySplit:
        return _figures(cases, wanted, _score(one, cases, failures, progress))

    outcomes = _score(method, cases, failures, progress)
    faults = {c.id: (c.split, c.fault) for c in cases if c.fault and c.findable}
    found = Evaluation(
        model=method.name,
        dataset=f"{dataset.name}@{dataset.digest}",
        splits=_figures(cases, wanted, outcomes),
        kinds=by_kind(faults, outcomes),
        missed=missed(faults, outcomes),
        details=tuple(detail(c.split, e, o) for c in cases for e, o in zip(c.examples, outcomes[c.id], strict=True)),
    )
    seen(found)
    for baseline in baselines:
        found = replace(found, baselines=found.baselines | {baseline.name: run(baseline)})
        seen(found)
    for ablation in ablations:
        found = replace(found, ablations=found.ablations | {ablation.name: run(ablation)})
        seen(found)
    return replace(found, runs=_curves(method, cases, wanted, progress) if runs else {}, failures=tuple(failures))


def _score(method: Method, cases: Sequence[Case], failures: list[Failure], progress: Progress) -> dict[str, list[Outcome]]:
    """Outcomes by incident. An exception of a method counts as a miss and does not end the evaluation."""
    found: dict[str, list[Outcome]] = defaultdict(list)
    for done, one in enumerate(cases):
        progress(f"score {method.name}", done, len(cases))
        for example in one.examples:
            try:
                found[one.id].append(metrics.outcome(example, method.score(example.incident, example.queries)))
            except Exception as error:  # a method under test may raise anything; it is counted and reported
                failures.append(Failure(method.name, one.id, f"{type(error).__name__}: {error}"))
                found[one.id].append(metrics.miss(example))
    progress(f"score {method.name}", len(cases), len(cases))
    return found


def _curves(method: Method, cases: Sequence[Case], wanted: Sequence[str], progress: Progress) -> dict[str, RunsCurve]:
    curves: dict[str, RunsCurve] = {}
    incidents = []
    for number, split in enumerate(wanted):
        progress("run queries", number, len(wanted))
        inside = [c.examples for c in cases if c.split == split and c.findable]
        if inside:
            curves[split] = runs_curve(method, inside)
            incidents.append(len(inside))
    if len(curves) > 1:
        curves[ALL] = together(tuple(curves.values()), incidents)
    return curves


def _figures(cases: Sequence[Case], wanted: Iterable[str], outcomes: dict[str, list[Outcome]]) -> BySplit:
    faulty = [outcomes[c.id] for c in cases if c.split != CONTROLS]
    found: dict[str, Figures] = {}
    for split in wanted:
        inside = [c for c in cases if c.split == split]
        if not inside:
            continue
        if split == CONTROLS:
            found[split] = _control_figures([outcomes[c.id] for c in inside], faulty)
        else:
            findable = [outcomes[c.id] for c in inside if c.findable]
            if findable:
                found[split] = _fault_figures(findable, left_out=len(inside) - len(findable))
    return found


def _fault_figures(by_incident: Sequence[Sequence[Outcome]], left_out: int) -> FaultFigures:
    flat = [o for outcomes in by_incident for o in outcomes]
    means = {
        "top1": _means(by_incident, lambda x: metrics.hits(x, 1)),
        "top3": _means(by_incident, lambda x: metrics.hits(x, 3)),
        "top5": _means(by_incident, lambda x: metrics.hits(x, 5)),
        "mrr": _means(by_incident, metrics.reciprocal_ranks),
        "average_rank": _means(by_incident, lambda x: np.array([float(o.rank) for o in x])),
        "accepted_top1": _means(by_incident, lambda x: metrics.accepted_hits(x, 1)),
        "accepted_top3": _means(by_incident, lambda x: metrics.accepted_hits(x, 3)),
        "template_top1": _means(by_incident, lambda x: np.array([float(o.template_right) for o in x])),
        "place_top1": _means(by_incident, lambda x: np.array([float(o.place_right) for o in x])),
        "confidence": _means(by_incident, lambda x: np.array([o.confidence for o in x])),
        "abstained": _means(by_incident, _abstained),
    }
    confidence = np.array([o.confidence for o in flat])
    incident = np.repeat(np.arange(len(by_incident)), [len(x) for x in by_incident])
    bins = metrics.reliability(confidence, metrics.hits(flat, 1))
    return FaultFigures(
        incidents=len(by_incident),
        examples=len(flat),
        left_out=left_out,
        failed=sum(o.failed for o in flat),
        ece=metrics.expected_calibration_error(bins),
        ece_chance=metrics.chance_calibration_error(confidence, incident),
        ci95={name: metrics.mean_interval(values) for name, values in means.items()},
        reliability=bins,
        **{name: float(values.mean()) for name, values in means.items()},
    )


def _control_figures(controls: Sequence[Sequence[Outcome]], faults: Sequence[Sequence[Outcome]]) -> ControlFigures:
    positive, negative = (_means(x, lambda o: np.array([v.abstain for v in o])) for x in (controls, faults))
    abstained = _means(controls, _abstained)
    intervals = {"abstained": metrics.mean_interval(abstained)}
    if len(negative):
        intervals["auroc"] = metrics.auroc_interval(positive, negative)
    return ControlFigures(
        incidents=len(controls),
        examples=sum(len(x) for x in controls),
        failed=sum(o.failed for x in controls for o in x),
        auroc=metrics.auroc(positive, negative) if len(negative) else None,
        abstained=float(abstained.mean()),
        ci95=intervals,
    )


def _means(by_incident: Sequence[Sequence[Outcome]], figure: Callable[[Sequence[Outcome]], Floats]) -> Floats:
    return np.array([float(figure(outcomes).mean()) for outcomes in by_incident])


def _abstained(outcomes: Sequence[Outcome]) -> Floats:
    return np.array([float(o.abstain > 0.5) for o in outcomes])
