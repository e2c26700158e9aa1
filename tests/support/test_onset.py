"""The onset of what users feel, in series of any scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from revelio.support.onset import USER_FACING, find_onset, spread
from revelio.types import Entity, Series

STEP, POINTS = 30.0, 140
TIMES = tuple(STEP * i for i in range(POINTS))
RNG = np.random.default_rng(7)


def series(metric: str, values: np.ndarray, unit: str = "s", service: str = "cart", times: tuple[float, ...] = TIMES) -> Series:
    return Series(Entity("service", service), metric, unit, times, tuple(map(float, values)))


def noisy(level: float, n: int = POINTS) -> np.ndarray:
    return level * np.exp(0.1 * RNG.normal(size=n))


@pytest.mark.parametrize("scale", [1e-4, 0.05, 300.0])
@pytest.mark.parametrize("began", [15, 60, 130])
def test_a_shift_is_found_at_any_scale_and_wherever_it_begins(scale: float, began: int) -> None:
    values = noisy(scale)
    values[began:] *= 8
    onset = find_onset([series("latency_p95", values), series("latency_p95", noisy(scale), service="orders")], TIMES[-1])
    assert onset is not None
    assert (onset.component, onset.signal, onset.until) == ("cart", "latency_p95", None)
    assert abs(onset.at - TIMES[began]) <= 2 * STEP


def test_the_first_of_the_signals_that_shift_together_gives_the_time() -> None:
    slow, errors = noisy(0.1), np.zeros(POINTS)
    slow[90:] *= 3
    errors[96:] = 4.0
    onset = find_onset([series("latency_p95", slow), series("error_rate", errors, "req/s")], TIMES[-1])
    assert onset is not None
    assert onset.signal == "error_rate"
    assert abs(onset.at - TIMES[90]) <= 2 * STEP


def test_what_is_over_is_told_with_its_end() -> None:
    values = noisy(0.1)
    values[40:70] *= 6
    onset = find_onset([series("latency_p95", values)], TIMES[-1])
    assert onset is not None and onset.until is not None
    assert abs(onset.at - TIMES[40]) <= 2 * STEP
    assert abs(onset.until - TIMES[70]) <= 2 * STEP


def test_errors_that_first_appear_are_compared_with_none() -> None:
    rate = series("request_rate", noisy(10.0), "req/s")
    errors = series("error_rate", np.full(20, 3.0), "req/s", times=TIMES[120:])
    onset = find_onset([rate, errors], TIMES[-1], frozenset({"error_rate"}))
    assert onset is not None
    assert (onset.signal, onset.at) == ("error_rate", TIMES[120])


def test_a_target_that_vanished_counts_as_down() -> None:
    gone = series("up", np.ones(100), "", times=TIMES[:100])
    onset = find_onset([gone, series("up", np.ones(POINTS), "", service="orders")], TIMES[-1])
    assert onset is not None
    assert (onset.component, onset.at) == ("cart", TIMES[100])


def test_noise_that_a_series_always_had_is_no_onset() -> None:
    bursts = np.zeros(POINTS)
    bursts[::9] = 5.0
    calm = [series("latency_p95", noisy(0.1), service=f"s{i}") for i in range(30)]
    calm += [series("error_rate", RNG.poisson(0.3, POINTS) / 30.0, "req/s", f"s{i}") for i in range(30)]
    assert find_onset([*calm, series("error_rate", bursts, "req/s", "batch")], TIMES[-1]) is None


def test_a_shift_that_comes_at_this_hour_of_every_day_is_no_onset() -> None:
    values = noisy(0.1)
    values[120:] *= 6
    nightly = replace(series("latency_p95", values), earlier=(tuple(noisy(0.6, 20)), tuple(noisy(0.6, 20))))
    assert find_onset([nightly], TIMES[-1]) is None
    assert find_onset([replace(nightly, earlier=())], TIMES[-1]) is not None


def test_traffic_that_fades_in_the_evening_is_no_onset() -> None:
    assert find_onset([series("request_rate", 100.0 - 0.3 * np.arange(POINTS) + noisy(2.0), "req/s")], TIMES[-1]) is None


def test_nothing_measured_is_no_onset() -> None:
    assert find_onset([], 0.0) is None
    assert find_onset([series("cpu", noisy(1.0))], TIMES[-1]) is None
    assert "cpu" not in USER_FACING


def test_the_spread_of_rates_is_never_below_that_of_counting() -> None:
    assert spread([0.0] * 20, "req/s", 60.0) == pytest.approx(1 / 60)
    assert spread([100.0] * 20, "s", 60.0) == pytest.approx(15.0)


def test_the_first_values_of_a_metric_are_no_past_to_leave() -> None:
    began = np.concatenate([np.zeros(4), noisy(0.0155, 20)])
    assert find_onset([series("latency_p95", began, times=TIMES[-24:])], TIMES[-1]) is None


def test_what_was_zero_is_left_by_a_bounded_deviation() -> None:
    onset = find_onset([series("latency_p95", np.concatenate([np.zeros(70), np.full(70, 15.5)]))], TIMES[-1])
    assert onset is not None and 5.0 < onset.sigma <= 20.0
