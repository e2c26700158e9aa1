"""Simpler methods that a model must beat. A new one is one file and one line in ``ALL``."""

from __future__ import annotations

from collections.abc import Callable

from revelio.catalog import Catalog
from revelio.evaluation.baselines.anomaly import Anomaly
from revelio.evaluation.baselines.bm25 import Bm25
from revelio.evaluation.baselines.frequency import Frequency
from revelio.evaluation.baselines.shuffled import Shuffled
from revelio.evaluation.baselines.tfidf import TfIdf
from revelio.evaluation.method import Baseline

ALL: dict[str, Callable[[Catalog], Baseline]] = {
    "random": lambda catalog: Shuffled(),
    "frequency": lambda catalog: Frequency(),
    "bm25": lambda catalog: Bm25(),
    "tfidf_logistic": lambda catalog: TfIdf(),
    "anomaly": Anomaly,
}


def baselines(catalog: Catalog) -> tuple[Baseline, ...]:
    """One of each, not fitted yet."""
    return tuple(make(catalog) for make in ALL.values())
