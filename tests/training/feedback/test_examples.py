"""Labelled incidents as lessons."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from revelio.ranker.recommender import Recommender
from revelio.systems.incidents.dataset import open_dataset
from revelio.training.feedback.examples import Case, labelled


def _mean_certainty(cases: list[Case]) -> float:
    return float(np.mean([np.exp(c.example.ranking.log_probability.max()) for c in cases]))


def test_at_a_higher_temperature_the_same_incidents_are_ranked_alike_and_with_less_certainty(
    replay_set: Path, base: Recommender
) -> None:
    dataset, catalog = open_dataset(replay_set), base.catalog
    sure = labelled(dataset, base.ranker, catalog, "train", most=6)
    unsure = labelled(dataset, base.ranker, catalog, "train", most=6, temperature=3.0)

    assert [c.incident for c in unsure] == [c.incident for c in sure]
    assert all((a.example.right == b.example.right).all() for a, b in zip(sure, unsure, strict=True))
    assert _mean_certainty(unsure) < _mean_certainty(sure) - 0.05
