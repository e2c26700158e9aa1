"""What is usual for a template, and how seldom it reads as far as it does now."""

from __future__ import annotations

import numpy as np
import pytest

from revelio.encoders.null_distribution import MIN_DEVIATION, NullDistribution, NullDistributions

COMMON = NullDistribution(20, tuple(1.0 for _ in range(10)))
RARE = NullDistribution(20, (1.5,))
NULL_DISTRIBUTIONS = NullDistributions({"common": COMMON, "rare": RARE, "new": NullDistribution(2, ())})


def rarity(nulls: NullDistributions, template: str, *largest: float) -> list[float]:
    expected = nulls.of(["first", template, "last"])
    readings = np.array(largest, dtype=np.float32)
    found: list[float] = expected.rarity(np.ones(len(readings), dtype=np.int64), readings)[:, 0].tolist()
    return found


def one_in(incidents: float) -> float:
    return float(np.log(incidents) / np.log(100.0))


def test_a_reading_surprises_the_more_the_fewer_other_incidents_read_as_far() -> None:
    assert rarity(NULL_DISTRIBUTIONS, "common", 0.9, 1.0, 1.1) == pytest.approx([one_in(21 / 11), one_in(21 / 11), one_in(21)])
    assert rarity(NULL_DISTRIBUTIONS, "rare", 0.9, 1.6) == pytest.approx([one_in(21 / 2), one_in(21)])


def test_what_is_hardly_out_surprises_nobody() -> None:
    assert rarity(NULL_DISTRIBUTIONS, "rare", MIN_DEVIATION - 0.01, 0.0, -2.0) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("template", ["new", "never seen"])
def test_of_a_template_that_was_hardly_seen_is_expected_what_all_do_together(template: str) -> None:
    assert rarity(NULL_DISTRIBUTIONS, template, 1.2) == pytest.approx([one_in(43 / 2)])


def test_without_any_background_nothing_surprises() -> None:
    assert rarity(NullDistributions(), "common", 5.0) == [0.0]
    assert NullDistributions().of([]).rarity(np.zeros(0, np.int64), np.zeros(0, np.float32)).shape == (0, 2)


def test_every_reading_is_compared_with_all_templates_too() -> None:
    templates, readings = np.array([0, 1, 2]), np.array([1.2, 1.2, 1.2], dtype=np.float32)
    overall = NULL_DISTRIBUTIONS.of(["common", "never seen", "rare"]).rarity(templates, readings)[:, 1]
    assert overall.tolist() == pytest.approx([one_in(43 / 2)] * 3)
