"""One definition of 'out of the ordinary'."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.support.anomaly import MOST_SIGMA, SIGNIFICANT, SIGNIFICANT_SIGMA, count_deviation, deviation, signal, split, usual
from revelio.types import Window

figures = st.lists(st.floats(-1e9, 1e9, allow_nan=False), max_size=30)


@given(figures, figures)
def test_the_signal_of_any_two_samples_lies_between_0_and_1(before: list[float], now: list[float]) -> None:
    assert 0.0 <= signal(deviation(before, now, "both")) <= 1.0


def test_a_ripple_is_quiet_and_a_jump_is_loud() -> None:
    before = [10.0, 10.5, 9.5, 10.2, 9.9]
    assert signal(deviation(before, [10.4, 9.8, 10.1], "both")) < 0.1
    assert signal(deviation(before, [30.0, 31.0, 29.0], "up")) == 1.0
    assert signal(deviation(before, [30.0, 31.0, 29.0], "down")) == 0.0


def test_a_fault_in_the_second_half_of_the_window_still_counts() -> None:
    assert signal(deviation([1.0] * 10, [1.0] * 5 + [3.0] * 5, "up")) == 1.0


QUIET, BUSY = [1.0, 1.1, 0.9] * 4, [9.0, 9.2, 8.8] * 2


def test_what_is_always_high_at_this_hour_is_no_deviation() -> None:
    assert deviation(QUIET, BUSY, "up") > 20
    assert deviation(QUIET, BUSY, "up", earlier=(BUSY, BUSY)) < 1
    assert deviation(BUSY, QUIET, "down", earlier=(QUIET, QUIET)) < 1
    assert deviation(QUIET, BUSY, "both", earlier=(BUSY,)) < 1


def test_what_was_high_on_one_of_two_days_alone_still_deviates() -> None:
    assert deviation(QUIET, BUSY, "up", earlier=(BUSY, QUIET)) > 40


def test_more_than_usual_at_this_hour_counts_as_far_as_it_is_more() -> None:
    higher = [30.0] * 6
    assert 7 < deviation(QUIET, higher, "up", earlier=(BUSY, BUSY)) < deviation(QUIET, higher, "up")


def test_what_fails_to_happen_at_its_hour_is_no_deviation_from_the_hour_before() -> None:
    assert abs(deviation(QUIET, QUIET, "both", earlier=(BUSY, BUSY))) < 1


@given(figures, figures, st.lists(figures, max_size=2))
def test_earlier_windows_never_make_a_deviation_larger(before: list[float], now: list[float], earlier: list[list[float]]) -> None:
    for direction in ("up", "down"):
        alone = deviation(before, now, direction)
        damped = deviation(before, now, direction, earlier=earlier)
        assert abs(damped) <= abs(alone) and damped * alone >= 0.0


def test_without_values_nothing_is_usual() -> None:
    assert all(map(np.isnan, usual(((), (float("nan"),)))))


def test_nothing_to_compare_is_no_deviation() -> None:
    assert deviation([], [1.0], "up") == 0.0
    assert deviation([1.0], [float("nan")], "up") == 0.0


def test_the_floor_keeps_a_flat_zero_baseline_calm() -> None:
    assert deviation([0.0] * 10, [0.02], "up", noise_floor=0.05) < 1
    assert deviation([0.0] * 10, [0.02], "up") > 100


def test_counts_are_compared_as_rates() -> None:
    assert count_deviation(20, 40, 10, 20) == pytest.approx(0.0)
    assert count_deviation(0, 40, 9, 20) == pytest.approx(9.0)


def test_no_history_is_not_zero() -> None:
    assert count_deviation(0, 0, 4000, 20) == 0.0
    assert count_deviation(0, 60, 10, 600) < 2.0 < 9.0 < count_deviation(0, 600, 10, 600)
    assert deviation([1.0], [4.0] * 40, "up") < 5.0 < 15.0 < deviation([1.0] * 40, [4.0] * 40, "up")


def test_usual_errors_are_usual_whatever_the_load() -> None:
    """Seven a second all day, a fifth more of them now: what happens always is no fault, and three times as many are."""
    assert 0.0 < count_deviation(25_200, 3600, 5_040, 600) < 2.0
    assert count_deviation(25_200, 3600, 12_600, 600) > 10.0


def test_however_far_a_value_lies_its_deviation_is_bounded() -> None:
    assert deviation([0.0] * 9, [15.5e6] * 9, "up") == count_deviation(0, 60, 10**9, 60) == MOST_SIGMA


def test_many_counts_are_as_far_as_each_alone() -> None:
    before, now = [0.0, 20.0, 7.0], [9.0, 10.0, 0.0]
    alone = [count_deviation(b, 40, n, 20) for b, n in zip(before, now, strict=True)]
    np.testing.assert_allclose(count_deviation(np.array(before), 40, np.array(now), 20), alone)


def test_present_is_where_it_says() -> None:
    assert signal(SIGNIFICANT_SIGMA) == SIGNIFICANT


def test_split_leaves_out_what_is_in_neither() -> None:
    before, now = split((0.0, 5.0, 10.0, 15.0, 25.0), (1.0, 2.0, 3.0, 4.0, 5.0), Window(0.0, 10.0), Window(10.0, 20.0))
    assert (before, now) == ([1.0, 2.0], [3.0, 4.0])


@pytest.mark.parametrize(("known", "least", "most"), [(2, 0.0, 4.0), (3, 4.0, 10.0), (8, 10.0, 20.0)])
def test_a_baseline_of_few_values_is_sure_of_little(known: int, least: float, most: float) -> None:
    assert least <= deviation([10.0] * known, [40.0] * 20, "up") <= most
