"""Measures transfer to unknown systems and unknown fault kinds.

Models are trained on one application with half of the fault kinds and tested on another application with the other half.
All incidents are from the training split, so that settings may be chosen by the result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

from revelio.catalog import Catalog
from revelio.errors import DatasetError
from revelio.ranker.artifact import MANIFEST, load_ranker
from revelio.systems.incidents.dataset import open_dataset
from revelio.systems.incidents.exchange import Record, write_records
from revelio.training.arguments import TrainArguments
from revelio.training.evaluation.baselines.anomaly import Anomaly
from revelio.training.evaluation.baselines.trees import BoostedTrees
from revelio.training.evaluation.results import FaultFigures
from revelio.training.evaluation.runner import TRAINING, Progress, evaluate, prefixed
from revelio.training.evaluation.summary_features import summary_features
from revelio.training.evaluation.trained import Trained
from revelio.training.train import train

TEST = "new_app"
"""The split of the test incidents."""
MEANS = ("top1", "confidence", "top3", "reranked_top3", "template_top1", "place_top1")
"""The figures of ``TransferFigures`` that are means over incidents."""
MIN_INCIDENTS = 10
"""Minimal number of training and of test incidents of a split."""


@dataclass(frozen=True, slots=True)
class TransferSplit:
    """Training and test incidents without a common system or fault kind."""

    name: str
    train: tuple[Record, ...]
    test: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class TransferFigures:
    """How one method ranked one transfer split: means over the incidents, each the mean over its reports.

    ``confidence`` is the mean probability of the first query. ``reranked_top3`` is the model's top 3 when the list is re-ranked
    after each result; None for other methods.
    """

    split: str
    given: str
    method: str
    incidents: int
    top1: float
    confidence: float
    top3: float
    template_top1: float
    place_top1: float
    reranked_top3: float | None = None


def transfer_splits(records: Sequence[Record]) -> tuple[TransferSplit, ...]:
    """All pairs of a training and a test application, with each half of the fault kinds; controls are in the training set.

    Raises ``DatasetError`` unless two applications have enough incidents.
    """
    found = tuple(s for s in _all_splits(records) if min(len(s.train), len(s.test)) >= MIN_INCIDENTS)
    if not found:
        raise DatasetError(f"no two systems of the training split have {MIN_INCIDENTS} incidents each and different fault kinds")
    return found


def study_transfer(whole: TrainArguments, progress: Progress = lambda what, done, total: None) -> tuple[TransferFigures, ...]:
    """Train the models missing from ``whole.out``, and score them with the baselines; the means come last.

    ``given`` is ``full``; ``inferred_reads``: a catalog whose templates declare no reads; or ``summary_features``: that catalog,
    and summary features of each entity in place of raw telemetry.
    """
    dataset = open_dataset(whole.dataset)
    found: list[TransferFigures] = []
    for one in transfer_splits([i.record for i in dataset.read(TRAINING)]):
        silent = without_reads(whole.catalog)
        for given, catalog, reduce in (
            ("full", whole.catalog, _unchanged),
            ("inferred_reads", silent, _unchanged),
            ("summary_features", silent, summary_features),
        ):
            model = whole.out / one.name / given
            data = _written(one, reduce, model / "data")
            if not (model / MANIFEST).is_file():
                told = prefixed(progress, f"{one.name}, {given}")
                train(replace(whole, dataset=data, out=model, catalog=catalog, resume=True), told)
            trained = Trained(load_ranker(model))
            seen = evaluate(
                open_dataset(data),
                catalog,
                trained,
                splits=(TEST,),
                baselines=(BoostedTrees(catalog), Anomaly(catalog)),
                runs=True,
            )
            for name, by_split in seen.by_method.items():
                figures = by_split[TEST]
                assert isinstance(figures, FaultFigures)
                reranked = seen.runs[TEST].reranked[2] if name == trained.name else None
                found.append(_transfer_figures(one.name, given, "model" if name == trained.name else name, figures, reranked))
    return (*found, *_means(found))


def _unchanged(record: Record) -> Record:
    return record


def _written(one: TransferSplit, reduce: Callable[[Record], Record], folder: Path) -> Path:
    parts = ((TRAINING, one.train), (TEST, one.test))
    records = [reduce(replace(r, split=split)) for split, some in parts for r in some]
    write_records(folder / "incidents" / "all.jsonl", records)
    return folder


def without_reads(catalog: Catalog) -> Catalog:
    """The catalog without declared reads."""
    tools = (replace(t, templates=tuple(replace(x, reads=()) for x in t.templates)) for t in catalog.tools)
    return Catalog(tuple(tools))


def _all_splits(records: Sequence[Record]) -> Iterator[TransferSplit]:
    systems = sorted({r.system for r in records})
    for known, unknown in permutations(systems, 2):
        for half in (0, 1):
            yield TransferSplit(
                f"{known}-{unknown}-{'ab'[half]}",
                tuple(r for r in records if r.system == known and _half(r) in (half, None)),
                tuple(r for r in records if r.system == unknown and _half(r) == 1 - half),
            )


def _half(record: Record) -> int | None:
    """The half of its fault kind; None for a control."""
    fault = record.fault
    if fault is None or fault.category == "control":
        return None
    return hashlib.sha256(f"half/{fault.kind}".encode()).digest()[0] % 2


def _transfer_figures(split: str, given: str, method: str, figures: FaultFigures, reranked_top3: float | None) -> TransferFigures:
    shares = (figures.top1, figures.confidence, figures.top3, figures.template_top1, figures.place_top1)
    return TransferFigures(split, given, method, figures.incidents, *shares, reranked_top3)


def _means(found: Sequence[TransferFigures]) -> Iterator[TransferFigures]:
    for given, method in dict.fromkeys((a.given, a.method) for a in found):
        own = [a for a in found if (a.given, a.method) == (given, method)]
        incidents = sum(a.incidents for a in own)
        mean = {
            share: sum(a.incidents * getattr(a, share) for a in own) / incidents
            for share in MEANS
            if getattr(own[0], share) is not None
        }
        yield TransferFigures("all", given, method, incidents, **mean)
