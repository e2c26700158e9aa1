"""Fares are in cents, add up, and grow with what one gets."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.travel.fares import CARDS, Journey, base_cents, comparison, fare, money, reduced

MONDAY, FRIDAY = date(2026, 11, 23), date(2026, 11, 27)
JOURNEYS = st.builds(
    Journey, st.integers(1, 600), st.sampled_from(("IC", "RE", "RB")), st.dates(date(2026, 1, 1), date(2027, 1, 1))
)
PARTIES = st.tuples(st.integers(1, 6), st.integers(0, 5))


@given(JOURNEYS, st.sampled_from((1, 2)), PARTIES, st.sampled_from(sorted(CARDS)))
def test_a_fare_is_the_sum_of_its_passengers_in_steps_of_five_cents(
    journey: Journey, comfort: int, party: tuple[int, int], card: str
) -> None:
    priced = fare(journey, comfort, *party, card)
    assert len(priced.lines) == sum(party)
    assert priced.total == sum(line.amount for line in priced.lines) > 0
    assert all(line.base % 5 == line.amount % 5 == 0 for line in priced.lines)
    assert priced.total == comparison(journey, *party)[str(comfort)][card]


@given(JOURNEYS, PARTIES)
def test_a_card_that_takes_more_off_never_costs_more(journey: Journey, party: tuple[int, int]) -> None:
    totals = [fare(journey, 2, *party, card).total for card in sorted(CARDS, key=lambda name: CARDS[name])]
    assert totals == sorted(totals, reverse=True)
    assert totals[0] > totals[-1]


@given(JOURNEYS)
def test_farther_better_busier_is_never_cheaper(journey: Journey) -> None:
    here = base_cents(journey, 2)
    assert base_cents(replace(journey, km=journey.km + 1), 2) >= here
    assert base_cents(journey, 1) >= here
    assert base_cents(replace(journey, day=FRIDAY), 2) >= base_cents(replace(journey, day=MONDAY), 2)


def test_a_child_pays_half_of_the_full_fare() -> None:
    adult, child = fare(Journey(240, "RE", MONDAY), 2, 1, 1, "none").lines
    assert (child.passenger, child.base) == ("child", adult.base // 2 - adult.base // 2 % 5)


@pytest.mark.parametrize(("base", "discount", "cents"), [(2345, 0, 2345), (2345, 25, 1755), (2345, 50, 1170), (190, 40, 110)])
def test_what_a_card_leaves_is_rounded_down_to_five_cents(base: int, discount: int, cents: int) -> None:
    assert reduced(base, discount) == cents


@pytest.mark.parametrize(("cents", "text"), [(0, "0.00"), (5, "0.05"), (1999, "19.99")])
def test_money_is_written_with_two_places(cents: int, text: str) -> None:
    assert money(cents) == text
