"""How well a model answers for a system and for causes that it was never shown.

Models are trained on one application with half of the kinds of faults, and asked about another application with the other
half. All of it is taken from the training split, so that settings may be chosen by it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

from revelio.catalog import Catalog
from revelio.errors import DatasetError
from revelio.evaluation.baselines.anomaly import Anomaly
from revelio.evaluation.baselines.trees import BoostedTrees
from revelio.evaluation.results import FaultFigures
from revelio.evaluation.runner import TRAINING, Progress, evaluate, prefixed
from revelio.evaluation.summary_features import summary_features
from revelio.evaluation.trained import Trained
from revelio.incidents.dataset import open_dataset
from revelio.incidents.exchange import Record, write_records
from revelio.ranker.artifact import MANIFEST, load_ranker
from revelio.training.arguments import TrainArguments
from revelio.training.train import train

ASKED = "new_app"
"""The split of the incidents that a model is asked about."""
MEANS = ("top1", "confidence", "top3", "reranked_top3", "template_top1", "place_top1")
"""The figures of ``TransferFigures`` that are means over incidents, as tables show them."""
MIN_INCIDENTS = 10
"""Incidents to learn from, and to be asked about, without which there is nothing to see."""


@dataclass(frozen=True, slots=True)
class TransferSplit:
    """Incidents to learn from, and incidents to be asked about, which have neither a system nor a kind of fault in common."""

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
    """Each application, with half of the kinds, against each other one, with the other half; controls are learned from too.

    Raises ``DatasetError`` where no two applications have enough incidents.
    """
    found = tuple(s for s in _all_splits(records) if min(len(s.train), len(s.test)) >= MIN_INCIDENTS)
    if not found:
        raise DatasetError(f"no two systems of the training split have {MIN_INCIDENTS} incidents each and different fault kinds")
    return found


def study_transfer(whole: TrainArguments, progress: Progress = lambda what, done, total: None) -> tuple[TransferFigures, ...]:
    """Train what is not in ``whole.out`` yet, and score it beside trees and distances; last come the means.

    ``given`` is ``full``; ``inferred_reads``: a catalog whose templates declare no reads; or ``summary_features``: that catalog,
    and summary features of each entity in place of raw telemetry.
    """
    dataset = open_dataset(whole.dataset)
    found: list[TransferFigures] = []
    for one in transfer_splits([i.record for i in dataset.read(TRAINING)]):
        silent = without_reads(whole.catalog)
        for given, catalog, as_seen in (
            ("full", whole.catalog, _as_it_is),
            ("inferred_reads", silent, _as_it_is),
            ("summary_features", silent, summary_features),
        ):
            model = whole.out / one.name / given
            data = _written(one, as_seen, model / "data")
            if not (model / MANIFEST).is_file():
                told = prefixed(progress, f"{one.name}, {given}")
                train(replace(whole, dataset=data, out=model, catalog=catalog, resume=True), told)
            trained = Trained(load_ranker(model))
            seen = evaluate(
                open_dataset(data),
                catalog,
                trained,
                splits=(ASKED,),
                baselines=(BoostedTrees(catalog), Anomaly(catalog)),
                runs=True,
            )
            for name, by_split in seen.by_method.items():
                figures = by_split[ASKED]
                assert isinstance(figures, FaultFigures)
                reranked = seen.runs[ASKED].reranked[2] if name == trained.name else None
                found.append(_transfer_figures(one.name, given, "model" if name == trained.name else name, figures, reranked))
    return (*found, *_means(found))


def _as_it_is(record: Record) -> Record:
    return record


def _written(one: TransferSplit, as_seen: Callable[[Record], Record], folder: Path) -> Path:
    parts = ((TRAINING, one.train), (ASKED, one.test))
    records = [as_seen(replace(r, split=split)) for split, some in parts for r in some]
    write_records(folder / "incidents" / "all.jsonl", records)
    return folder


def without_reads(catalog: Catalog) -> Catalog:
    """The catalog as somebody would write it who does not know the figures."""
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
    """In which half of the kinds of faults its own is; None of a control."""
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
