"""Metrics against values worked out by hand."""

from pathlib import Path

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.training.evaluation import metrics
from revelio.training.evaluation.method import Scores, from_logits, from_weights
from revelio.training.evaluation.metrics import Bin, Outcome
from tests.training.evaluation.made import catalog, example

GRADES = {("meter.cpu", "cart"): 3, ("logs.errors", "cart"): 1}


@pytest.fixture
def known(tmp_path: Path) -> Catalog:
    return catalog(tmp_path)


def _outcome(known: Catalog, *first: tuple[str, str], grades: dict[tuple[str, str], int] = GRADES) -> Outcome:
    one = example(known, grades)
    order = {key: 10.0 - i for i, key in enumerate(first)}
    logits = np.array([order.get((q.template.id, q.bindings[0][1]), 0.0) for q in one.queries])
    return metrics.outcome(one, from_logits(logits, 0.25))


def test_ranks_are_those_of_the_first_cause_and_of_the_first_accepted_query(known: Catalog) -> None:
    found = _outcome(known, ("meter.memory", "cart"), ("logs.errors", "cart"), ("meter.cpu", "cart"))
    assert (found.rank, found.accepted_rank, found.candidates) == (3, 2, 9)
    assert (found.template_right, found.place_right) == (False, True)
    assert metrics.hits([found], 1).tolist() == [0.0]
    assert metrics.hits([found], 3).tolist() == [1.0]
    assert metrics.accepted_hits([found], 1).tolist() == [0.0]
    assert metrics.accepted_hits([found], 2).tolist() == [1.0]
    assert metrics.reciprocal_ranks([found]).tolist() == [pytest.approx(1 / 3)]


def test_the_right_template_at_the_wrong_place_is_told_apart(known: Catalog) -> None:
    found = _outcome(known, ("meter.cpu", "orders"), ("meter.cpu", "cart"))
    assert (found.rank, found.template_right, found.place_right) == (2, True, False)


def test_an_incident_without_an_accepted_candidate_is_never_a_hit(known: Catalog) -> None:
    found = _outcome(known, ("meter.cpu", "cart"), grades={})
    assert found.rank == 10
    assert metrics.hits([found], 50).tolist() == [0.0]
    assert metrics.reciprocal_ranks([found]).tolist() == [0.0]


def test_ties_favour_no_position_in_the_list(known: Catalog) -> None:
    hits = []
    for number in range(900):
        one = example(known, {("meter.cpu", "cart"): 3}, identity=f"i{number}")
        hits.append(metrics.outcome(one, from_weights(np.ones(9), 0.5)).rank == 1)
    assert np.mean(hits) == pytest.approx(1 / 9, abs=0.04)


def test_confidence_is_the_probability_of_the_first(known: Catalog) -> None:
    one = example(known, GRADES)
    weights = np.zeros(9)
    weights[0], weights[1] = 3.0, 1.0
    assert metrics.outcome(one, from_weights(weights, 0.5)).confidence == pytest.approx(0.75)


@pytest.mark.parametrize("values", [np.zeros(3), np.full(9, np.nan)])
def test_scores_that_are_no_scores_are_refused(known: Catalog, values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="9 candidates"):
        metrics.outcome(example(known, GRADES), Scores(values, 0.5))


def test_calibration_error_weighs_each_bin_by_its_count() -> None:
    confidence = np.array([0.95, 0.95, 0.95, 0.95, 0.15])
    right = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    bins = metrics.reliability(confidence, right)
    assert bins == (Bin(0.15, 0.0, 1), Bin(0.95, 0.75, 4))
    assert metrics.expected_calibration_error(bins) == pytest.approx(0.8 * 0.20 + 0.2 * 0.15)


def test_few_incidents_show_an_error_by_chance_that_many_do_not() -> None:
    confidence = np.random.default_rng(1).uniform(0.3, 1.0, 2000)
    few = metrics.chance_calibration_error(confidence[:20], np.arange(20))
    many = metrics.chance_calibration_error(confidence, np.arange(2000))
    assert few > 0.1 > 0.03 > many
    # Reports of one incident stand or fall together: a hundred of them tell as little as the incidents that they are of.
    told = metrics.chance_calibration_error(np.repeat(confidence[:20], 5), np.repeat(np.arange(20), 5))
    assert told == pytest.approx(few, abs=0.02)
    assert metrics.chance_calibration_error(np.array([]), np.array([], dtype=np.int64)) == 0.0


def test_a_confidence_of_one_falls_into_the_last_bin() -> None:
    assert metrics.reliability(np.array([1.0]), np.array([1.0])) == (Bin(1.0, 1.0, 1),)


def test_auroc_counts_pairs_and_half_of_the_ties() -> None:
    assert metrics.auroc(np.array([0.9, 0.5]), np.array([0.5, 0.1])) == pytest.approx((1 + 1 + 0.5 + 1) / 4)
    assert np.isnan(metrics.auroc(np.array([]), np.array([0.1])))


def test_intervals_hold_the_mean_and_shrink_with_more_incidents() -> None:
    few, many = np.tile([0.0, 1.0], 5), np.tile([0.0, 1.0], 200)
    low, high = metrics.mean_interval(few)
    assert low < 0.5 < high
    assert metrics.mean_interval(few) == (low, high)
    assert np.diff(metrics.mean_interval(many))[0] < high - low


def test_weights_and_logits_become_distributions() -> None:
    assert np.exp(from_weights(np.zeros(4), 0.5).log_probabilities).tolist() == [0.25] * 4
    assert np.exp(from_logits(np.array([1.0, 2.0]), 0.5).log_probabilities).sum() == pytest.approx(1.0)
    assert from_logits(np.zeros(0), 1.0).log_probabilities.shape == (0,)
