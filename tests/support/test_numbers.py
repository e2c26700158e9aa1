"""The one formatter of numbers."""

from __future__ import annotations

import math

import pytest

from revelio.support.numbers import format_count, format_duration, format_sigma, format_value


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.12345, "", "0.123"),
        (12345.6, "", "12,346"),
        (0.00002, "", "2.0e-05"),
        (0.0123, "s", "12.3 ms"),
        (0.5, "of limit", "50 % of limit"),
        (0.5, "ratio", "50 %"),
        (256 * 1024**2, "B", "256 MiB"),
        (25e6, "B/s", "23.8 MiB/s"),
        (0.0366, "cores", "0.0366 cores"),
        (None, "s", "–"),
        (math.nan, "B", "–"),
    ],
)
def test_a_value_has_three_digits_and_a_unit_that_fits(value: float | None, unit: str, words: str) -> None:
    assert format_value(value, unit) == words


def test_a_bare_value_keeps_only_units_that_scale_it() -> None:
    assert [format_value(2.0, unit, bare=True) for unit in ("req/s", "of limit", "B")] == ["2", "200 %", "2 B"]


def test_durations_deviations_and_counts() -> None:
    assert [format_duration(ms) for ms in (0.0, 340.4, 2100.0, 210_000.0, math.inf)] == [
        "0 ms",
        "340 ms",
        "2.1 s",
        "3.5 min",
        "–",
    ]
    assert [format_sigma(s) for s in (0.0, 5.04, 51.2)] == ["0.0σ", "5.0σ", "51σ"]
    assert [format_count(n, "line") for n in (1, 1200.4)] == ["1 line", "1,200 lines"]
