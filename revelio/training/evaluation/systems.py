"""Leave one system out: models trained on all other systems, tested on a system that they never saw.

A dataset with frozen splits takes part with its training split, so that settings may be chosen by the result; any other with
all of its incidents.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from revelio.errors import DatasetError
from revelio.ranker.artifact import MANIFEST, load_ranker
from revelio.ranker.session import Ranker
from revelio.systems.incidents.dataset import Dataset, LabelledIncident
from revelio.training.arguments import TrainArguments
from revelio.training.evaluation.baselines.bm25 import Bm25
from revelio.training.evaluation.baselines.deviation_count import DeviationCount
from revelio.training.evaluation.baselines.lambda_rank import LambdaRank
from revelio.training.evaluation.baselines.shuffled import Shuffled
from revelio.training.evaluation.results import FaultFigures, Interval
from revelio.training.evaluation.runner import TRAINING, Progress, evaluate, prefixed
from revelio.training.evaluation.trained import Trained
from revelio.training.train import train

TEST = "new_app"
"""The split of the incidents of the system that is left out."""
MIN_SYSTEMS, MIN_INCIDENTS = 2, 5
MIN_SCORED = 15
"""Incidents of the system that no model was adapted to."""
MEAN = "mean"
"""Stands for all systems, each with the same weight."""
SHARES = ("top1", "top3", "template_top1", "place_top1", "confidence")
"""The figures of ``SystemFigures`` that are shares of incidents."""


Adapt = Callable[[Ranker, Sequence[LabelledIncident]], Ranker]
"""What a ranker becomes by incidents of one system."""


@dataclass(frozen=True, slots=True)
class SystemFigures:
    """One method on one system left out, over its incidents with a proven query that shows the cause.

    ``top1_ci95`` is the bootstrap interval over incidents, None for the mean over systems.
    """

    system: str
    method: str
    incidents: int
    top1: float
    top3: float
    template_top1: float
    place_top1: float
    confidence: float
    top1_ci95: Interval | None = None


def leave_one_out(
    dataset: Dataset,
    whole: TrainArguments,
    today: Ranker,
    per_system: int,
    progress: Progress = lambda what, done, total: None,
    own: Sequence[int] = (),
    adapt: Adapt = lambda ranker, incidents: ranker,
) -> tuple[SystemFigures, ...]:
    """Train what is not in ``whole.out`` yet, and score it beside the baselines and the model of ``today``; the means come last.

    At most ``per_system`` incidents of each system take part. The model is also scored after each number of ``own`` incidents
    of the system, as what ``adapt`` makes of it with them; nothing is scored on these. Raises ``DatasetError`` with
    fewer than two systems.
    """
    parts = _parts(dataset)
    systems = _chosen(parts, per_system)
    if len(systems) < MIN_SYSTEMS:
        raise DatasetError(f"{dataset.name}: needs {MIN_SYSTEMS} systems with {MIN_INCIDENTS} incidents each, has {len(systems)}")
    everything = frozenset[str]().union(*systems.values())
    tools = dataset.all_tools(whole.catalog)
    found: list[SystemFigures] = []
    for number, system in enumerate(sorted(systems)):
        steps = prefixed(progress, f"{system} ({number + 1} of {len(systems)})")
        part = _left_out(dataset, parts, system, everything)
        folder = whole.out / f"{system}-{part.digest}"
        if not (folder / MANIFEST).is_file():
            train(replace(whole, out=folder, resume=True), steps, part)
        model, bundled = Trained(load_ranker(folder, tools)), Trained(today)
        model.name, bundled.name = "model", "today"
        shown = _to_show(part, own)
        later = [_named(Trained(adapt(model.ranker, shown[:n])), f"own_{n}") for n in own if n <= len(shown)]
        seen = evaluate(
            part,
            whole.catalog,
            model,
            splits=(TEST,),
            leave_out=frozenset(i.record.id for i in shown),
            baselines=(Shuffled(), DeviationCount(tools), Bm25(), LambdaRank(tools)),
            ablations=(bundled, *later),
            progress=steps,
        )
        for method, by_split in seen.by_method.items():
            figures = by_split.get(TEST)
            if isinstance(figures, FaultFigures):
                shares = {share: getattr(figures, share) for share in SHARES}
                found.append(SystemFigures(system, method, figures.incidents, top1_ci95=figures.ci95["top1"], **shares))
    return (*found, *_means(found))


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the datasets, and the system of each of its incidents that takes part."""

    dataset: Dataset
    systems: dict[str, str]

    def left_out(self, system: str, chosen: frozenset[str]) -> Dataset:
        """The dataset with the chosen incidents alone: those of the system to test on, the others to train on."""
        splits = dict.fromkeys((*self.dataset.splits, *self.systems), "")
        splits |= {i: TEST if name == system else TRAINING for i, name in self.systems.items() if i in chosen}
        return replace(self.dataset, splits=splits)


def _parts(dataset: Dataset) -> tuple[_Part, ...]:
    alone = (replace(dataset, others=()), *dataset.others)
    return tuple(_Part(d, {i.record.id: i.record.system for i in d.read(*((TRAINING,) if d.splits else ()))}) for d in alone)


def _chosen(parts: Sequence[_Part], per_system: int) -> dict[str, frozenset[str]]:
    """The ids of at most ``per_system`` incidents of each system, by a hash of their ids; systems with too few are left out."""
    by_system: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        for incident, system in part.systems.items():
            by_system[system].append(incident)
    return {
        system: frozenset(sorted(ids, key=lambda i: hashlib.sha256(i.encode()).digest())[:per_system])
        for system, ids in by_system.items()
        if len(ids) >= MIN_INCIDENTS
    }


def _left_out(dataset: Dataset, parts: Sequence[_Part], system: str, chosen: frozenset[str]) -> Dataset:
    first, *others = (part.left_out(system, chosen) for part in parts)
    digest = hashlib.sha256(f"{system} {sorted(chosen)} {dataset.digest}".encode()).hexdigest()[:12]
    return replace(first, others=tuple(others), digest=digest)


def _to_show(part: Dataset, own: Sequence[int]) -> list[LabelledIncident]:
    """The incidents to adapt to, in random order: as many as the largest number of ``own`` that leaves enough to score."""
    if not own:
        return []
    there = sorted(part.read(TEST), key=lambda i: hashlib.sha256(f"own {i.record.id}".encode()).digest())
    return there[: max((n for n in own if n + MIN_SCORED <= len(there)), default=0)]


def _named(method: Trained, name: str) -> Trained:
    method.name = name
    return method


def _means(found: Sequence[SystemFigures]) -> Iterator[SystemFigures]:
    for method in dict.fromkeys(f.method for f in found):
        own = [f for f in found if f.method == method]
        shares: dict[str, Any] = {share: fmean(getattr(f, share) for f in own) for share in SHARES}
        yield SystemFigures(MEAN, method, sum(f.incidents for f in own), **shares)
