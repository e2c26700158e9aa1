"""One parser for the time of a question: what it reads, and what it says to what it cannot."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.errors import InvalidInputError
from revelio.systems.time_range import CLOCK_SKEW_S, TimeRange, parse_duration, parse_time, parse_time_range, time_range

NOW = datetime(2026, 11, 23, 15, 0, tzinfo=UTC).timestamp()


def clock(hour: int, minute: int = 0, day: int = 23) -> float:
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("14:20", clock(14, 20)),
        ("16:20", clock(16, 20, day=22)),
        ("14:20 UTC", clock(14, 20)),
        ("yesterday 14:20", clock(14, 20, day=22)),
        ("30m ago", NOW - 1800),
        ("-30m", NOW - 1800),
        ("1h30m ago", NOW - 5400),
        ("2026-11-23T12:00", clock(12)),
        ("2026-11-23T12:00+02:00", clock(10)),
        ("2026-11-23", clock(0)),
        (f"{NOW - 60:.0f}", NOW - 60),
        ("now", NOW),
    ],
)
def test_a_time_is_read(written: str, read: float) -> None:
    assert parse_time(written, "at", NOW) == read


def test_a_time_without_a_zone_is_on_the_clock_of_who_wrote_it() -> None:
    assert parse_time("14:20", "at", NOW, timezone(timedelta(hours=2))) == clock(12, 20)
    assert parse_time("14:20Z", "at", NOW, timezone(timedelta(hours=2))) == clock(14, 20)


@pytest.mark.parametrize("written", ["banana", "25:99", "9999-99-99", "in 3 hours", "tomorrow 14:20", "30 lightyears ago"])
def test_what_is_no_past_time_is_refused_by_name(written: str) -> None:
    with pytest.raises(InvalidInputError, match="since"):
        parse_time(written, "since", NOW)


@pytest.mark.parametrize(
    ("written", "seconds"), [("10m", 600), ("1h30m", 5400), ("600", 600), ("2 hours", 7200), ("1 day", 86400)]
)
def test_a_length_is_read(written: str, seconds: float) -> None:
    assert parse_duration(written) == seconds


@pytest.mark.parametrize("written", ["soon", "10 lightyears", "10m!", "m", "1h 30"])
def test_what_is_no_length_is_refused(written: str) -> None:
    with pytest.raises(InvalidInputError, match="length of time"):
        parse_duration(written)


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_a_clear_error(written: str) -> None:
    with contextlib.suppress(InvalidInputError):
        assert parse_time(written, "at", NOW) <= NOW + CLOCK_SKEW_S
    with contextlib.suppress(InvalidInputError):
        parse_duration(written)


@pytest.mark.parametrize(
    ("asked", "bounds"),
    [
        (TimeRange(), (NOW - 600, NOW)),
        (TimeRange(at=NOW - 60), (NOW - 660, NOW - 60)),
        (TimeRange(since=NOW - 60), (NOW - 60, NOW)),
        (TimeRange(window_s=30), (NOW - 30, NOW)),
        (TimeRange(since=NOW - 300, window_s=60), (NOW - 300, NOW - 240)),
        (TimeRange(since=NOW - 300, window_s=900), (NOW - 300, NOW)),
        (TimeRange(since=NOW - 300, at=NOW - 100), (NOW - 300, NOW - 100)),
        (TimeRange(at=NOW - 100, window_s=50), (NOW - 150, NOW - 100)),
    ],
)
def test_any_two_of_three_give_a_window(asked: TimeRange, bounds: tuple[float, float]) -> None:
    assert asked.bounds(NOW, 600.0) == bounds


@pytest.mark.parametrize(
    ("since", "at", "window", "said"),
    [
        ("1h ago", "now", "10m", "one too many"),
        ("10m ago", "1h ago", "", "before"),
        ("", "", "400 days", "window"),
        ("2026-01-01", "", "", "longer than 31 days"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(since: str, at: str, window: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        parse_time_range(since, at, window, now=NOW)


def test_programs_give_seconds_or_text() -> None:
    assert time_range(NOW - 600, None, "5m", now=NOW) == TimeRange(since=NOW - 600, window_s=300)
