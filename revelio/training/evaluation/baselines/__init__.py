"""Baselines for the model. A new one is one file and one line in ``ALL``."""

from __future__ import annotations

from collections.abc import Callable

from revelio.catalog import Catalog
from revelio.encoders.report import TextEncoder
from revelio.training.evaluation.baselines.anomaly import Anomaly
from revelio.training.evaluation.baselines.bm25 import Bm25
from revelio.training.evaluation.baselines.frequency import Frequency
from revelio.training.evaluation.baselines.nearest import Nearest
from revelio.training.evaluation.baselines.paper import PaperArchitecture
from revelio.training.evaluation.baselines.shuffled import Shuffled
from revelio.training.evaluation.baselines.tfidf import TfIdf
from revelio.training.evaluation.baselines.trees import BoostedTrees
from revelio.training.evaluation.baselines.zero_shot import ZeroShot
from revelio.training.evaluation.method import Baseline

ALL: dict[str, Callable[[Catalog, TextEncoder], Baseline]] = {
    "random": lambda catalog, text: Shuffled(),
    "frequency": lambda catalog, text: Frequency(),
    "bm25": lambda catalog, text: Bm25(),
    "zero_shot": lambda catalog, text: ZeroShot(text),
    "tfidf_logistic": lambda catalog, text: TfIdf(),
    "nearest_incident": Nearest,
    "anomaly": lambda catalog, text: Anomaly(catalog),
    "boosted_trees": lambda catalog, text: BoostedTrees(catalog),
    "paper_architecture": lambda catalog, text: PaperArchitecture(text),
}


def baselines(catalog: Catalog, text: TextEncoder) -> tuple[Baseline, ...]:
    """One of each, not fitted; ``text`` is a published sentence encoder."""
    return tuple(make(catalog, text) for make in ALL.values())
