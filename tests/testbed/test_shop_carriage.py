"""Delivery costs what the tariff says and arrives on a working day; the probe users reckon the same by themselves."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.shop.carriage import Zone, arrival, cost
from testbed.users.visitors.shop import Line
from testbed.users.walks.shop import arrivals

HOME = Zone("DE", 10_000, 2, 14, ((2_000, 490), (10_000, 690), (31_500, 1_490)))
MOMENTS = st.datetimes(dt.datetime(2024, 1, 1), dt.datetime(2030, 1, 1), timezones=st.just(dt.UTC))


@pytest.mark.parametrize(
    ("grams", "goods", "cents"),
    [
        (1, 1, 490),
        (2_000, 9_999, 490),
        (2_001, 9_999, 690),
        (10_001, 9_999, 1_490),
        (31_500, 9_999, 1_490),
        (31_501, 9_999, 1_490 + 490),
        (63_000, 9_999, 2 * 1_490),
        (0, 0, 490),
        (31_501, 10_000, 0),
    ],
)
def test_the_lightest_parcel_that_fits_is_charged_and_free_from_a_sum(grams: int, goods: int, cents: int) -> None:
    assert cost(HOME, grams, goods) == cents


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_more_weight_never_costs_less(grams: int, more: int) -> None:
    assert cost(HOME, grams, 0) <= cost(HOME, grams + more, 0)


@pytest.mark.parametrize(
    ("ordered", "arrives"),
    [
        ("2026-11-18T13:59", "2026-11-20"),
        ("2026-11-18T14:00", "2026-11-23"),
        ("2026-11-20T09:00", "2026-11-24"),
        ("2026-11-20T15:00", "2026-11-25"),
        ("2026-11-21T09:00", "2026-11-25"),
        ("2026-11-22T23:00", "2026-11-25"),
    ],
)
def test_weekends_do_not_count_and_what_is_late_leaves_the_next_day(ordered: str, arrives: str) -> None:
    assert arrival(HOME, dt.datetime.fromisoformat(ordered + "+00:00")).isoformat() == arrives


def test_the_cut_off_is_the_shops_own_hour_wherever_the_clock_stands() -> None:
    there = dt.datetime.fromisoformat("2026-11-18T06:30-08:00")
    assert arrival(HOME, there) == arrival(HOME, there.astimezone(dt.UTC)) == dt.date(2026, 11, 23)


@given(MOMENTS)
def test_it_arrives_on_a_working_day_and_never_sooner_than_promised(ordered: dt.datetime) -> None:
    arrives = arrival(HOME, ordered)
    assert arrives.weekday() < 5
    assert dt.timedelta(days=2) <= arrives - ordered.date() <= dt.timedelta(days=6)


@given(MOMENTS, st.integers(390, 19_900), st.integers(100, 4_000), st.integers(1, 3))
def test_a_probe_user_expects_what_the_shop_promises(ordered: dt.datetime, price: int, weight: int, quantity: int) -> None:
    line = Line(1, "Oak lamp no. 1", price, weight, quantity)
    assert line.delivery == cost(HOME, weight * quantity, line.amount)
    assert arrival(HOME, ordered).isoformat() in arrivals(ordered)
