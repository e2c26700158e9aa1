"""Trees count where templates are known, rules of any system where they are not; results of runs count in full."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from revelio.encoders.query import TREE_FEATURES, EncodedIncident
from revelio.encoders.report import HashingEncoder
from revelio.ranker.blend import Blend
from revelio.ranker.scoring import Calibration, Logits, Ranking, rank
from revelio.types import Query, QueryTemplate

TEMPLATES = tuple(QueryTemplate(f"t.{n}", "t", n, "", n) for n in ("one", "two", "three"))


class Fixed:
    """Trees with one opinion."""

    def __init__(self, *chances: float) -> None:
        self.found: np.ndarray = np.log(np.array(chances))

    def log_probabilities(self, matches: object) -> np.ndarray:
        return self.found


def encoded(**columns: list[float]) -> EncodedIncident:
    matches = np.zeros((3, len(TREE_FEATURES)), dtype=np.float32)
    for name, values in columns.items():
        matches[:, TREE_FEATURES.index(name)] = values
    each, one = np.arange(3), np.zeros(3, dtype=np.int64)
    text = HashingEncoder(8)
    queries = tuple(Query(t) for t in TEMPLATES)
    blank = np.zeros((3, 1), dtype=np.float32)
    words, tool = text.encode([t.title for t in TEMPLATES]), text.encode(["t"])
    return EncodedIncident(queries, ("t",), TEMPLATES, tool[0], tool, words, one, blank, each, blank, each, matches)


def network(x: EncodedIncident, *chances: float) -> Ranking:
    logits = Logits(np.zeros(1, np.float32), np.log(np.array(chances, np.float32)), np.zeros(3, np.float32), -1.0)
    return rank(x, logits, Calibration())


def chances(ranking: Ranking) -> np.ndarray:
    return np.exp(ranking.log_probability)


def test_of_a_known_catalog_network_and_trees_share_the_answer() -> None:
    x = encoded(read_above_callees=[0, 0, 2], named=[0, 0, 1])
    said = network(x, 0.6, 0.3, 0.1)
    blend = Blend(Fixed(0.1, 0.8, 0.1), frozenset(t.id for t in TEMPLATES))  # type: ignore[arg-type]
    found = chances(blend.apply(x, said, said))
    wanted = np.array([0.6, 0.3, 0.1]) * np.array([0.1, 0.8, 0.1])  # both halves, at half the temperature
    np.testing.assert_allclose(found, wanted / wanted.sum(), rtol=1e-5)
    assert found.sum() == pytest.approx(1.0)


def test_of_an_unknown_catalog_the_deepest_deviation_and_the_named_template_count_and_the_answer_is_less_sure() -> None:
    calm = encoded()
    said = network(calm, 0.8, 0.1, 0.1)
    blend = Blend(Fixed(0.98, 0.01, 0.01), frozenset())  # type: ignore[arg-type]
    flat = chances(blend.apply(calm, said, said))
    assert 1 / 3 < flat[0] < 0.8
    assert chances(blend.apply(encoded(read_above_callees=[0, 2, 0]), said, said)).argmax() == 1
    assert chances(blend.apply(encoded(named=[0, 0, 1]), said, said))[2] > flat[2]


def test_what_the_network_makes_of_a_result_is_not_halved_by_trees_that_do_not_know_it() -> None:
    x = encoded()
    before, after = network(x, 0.6, 0.3, 0.1), network(x, 0.1, 0.6, 0.3)
    blend = Blend(Fixed(0.6, 0.3, 0.1), frozenset(t.id for t in TEMPLATES))  # type: ignore[arg-type]
    change = chances(blend.apply(x, after, before)) / chances(blend.apply(x, before, before))
    wanted = chances(after) / chances(before)
    np.testing.assert_allclose(change / change[0], wanted / wanted[0], rtol=1e-4)
    assert blend.apply(x, replace(after, abstain=0.7), before).abstain == 0.7
