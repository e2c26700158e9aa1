"""A cancelled booking gives back what the rule says, to the minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.travel.refunds import refund, refund_percent

DEPARTS = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
SPANS = st.timedeltas(timedelta(days=-1), timedelta(days=30))


@pytest.mark.parametrize(
    ("left", "percent"),
    [
        (timedelta(days=30), 100),
        (timedelta(days=2), 100),
        (timedelta(days=2) - timedelta(seconds=1), 50),
        (timedelta(hours=1), 50),
        (timedelta(hours=1) - timedelta(seconds=1), 0),
        (timedelta(0), 0),
        (timedelta(hours=-5), 0),
    ],
)
def test_all_until_two_days_before_half_until_one_hour_before_then_nothing(left: timedelta, percent: int) -> None:
    assert refund_percent(DEPARTS - left, DEPARTS) == percent


@given(st.integers(0, 10**7), SPANS, SPANS)
def test_whoever_cancels_later_never_gets_more_and_nobody_more_than_was_paid(paid: int, one: timedelta, other: timedelta) -> None:
    sooner, later = sorted((one, other), reverse=True)
    assert paid >= refund(paid, DEPARTS - sooner, DEPARTS) >= refund(paid, DEPARTS - later, DEPARTS) >= 0
