"""Times in reports: what is said once and clearly is taken, all else is proposed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.systems.time_mentions import AROUND_S, MARGIN_S, time_mentions
from revelio.systems.time_range import TimeRange

NOW = datetime(2026, 11, 23, 15, 0, tzinfo=UTC).timestamp()


def clock(hour: int, minute: int = 0, second: int = 0) -> float:
    return datetime(2026, 11, 23, hour, minute, second, tzinfo=UTC).timestamp()


def around(moment: float) -> TimeRange:
    return TimeRange(since=moment - MARGIN_S, window_s=AROUND_S)


@pytest.mark.parametrize(
    ("report", "time"),
    [
        ("it is slow for half an hour", TimeRange(since=NOW - 1800)),
        ("errors since 2pm", TimeRange(since=clock(14))),
        ("started 20 minutes ago", TimeRange(since=NOW - 1200)),
        ("around 14:20 UTC the cart broke", around(clock(14, 20))),
        ("2026-11-23T14:12:54.000Z ERROR no route", around(clock(14, 12, 54))),
        ('10.0.0.7 - - [23/Nov/2026:12:14:54 +0000] "GET /"', around(clock(12, 14, 54))),
        ("orders stuck from 13:00 to 13:30 UTC", TimeRange(since=clock(13), at=clock(13, 30))),
        ("at 14:20 CET it stopped", around(clock(13, 20))),
    ],
)
def test_a_time_that_can_mean_one_thing_is_sure(report: str, time: TimeRange) -> None:
    [found] = time_mentions(report, NOW)
    assert (found.time, found.unsure) == (time, "")


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ("checkout takes ages since lunch", "no exact time"),
        ("this morning checkout failed", "no exact time"),
        ("it broke at 2:20", "morning or afternoon"),
        ("users cannot log in since yesterday", "whole day"),
        ("since monday 9:00", "this week or the last"),
        ("a few minutes ago", "no exact length"),
        ("2026-11-23 14:12:54,123 ERROR no route", "another one"),
        ("around 14:20 and again at 14:45 UTC", "several times"),
    ],
)
def test_a_time_that_can_mean_several_is_unsure(report: str, why: str) -> None:
    found = time_mentions(report, NOW)
    assert found
    assert all(why in mention.unsure for mention in found)


def test_a_clock_time_is_unsure_where_nothing_says_the_zone() -> None:
    [found] = time_mentions("errors since 14:20", NOW, zone_known=False)
    assert "no time zone" in found.unsure
    [found] = time_mentions("errors since 14:20 UTC", NOW, zone_known=False)
    assert found.unsure == ""


@pytest.mark.parametrize(
    "report",
    [
        "we got 503 from 10.0.3.7:8080 after 3 tries",
        "each request takes 3 seconds",
        "the page hangs for 30 seconds",
        "error rate went from 2 to 500 errors",
        "broken since version 2.10",
        "it will break at 16:20 on 2027-01-01",
        "",
    ],
)
def test_numbers_that_are_no_times_are_left_alone(report: str) -> None:
    assert [m for m in time_mentions(report, NOW) if not m.unsure and m.time.since and m.time.since > NOW - 3600] == []


@given(st.text(max_size=200))
def test_any_report_is_read_without_an_error(report: str) -> None:
    assert len(time_mentions(report, NOW)) <= 3


def test_a_long_report_is_read_quickly() -> None:
    time_mentions("since about around at " * 900, NOW)
