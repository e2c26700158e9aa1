"""Seats have one number each, and who travels together sits together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.travel.layout import capacity, drawing, numbers, pick, places, spoken

COACHES = st.integers(1, 4)


@pytest.mark.parametrize(("coaches", "seats", "first"), [(1, 24, 0), (2, 78, 30), (3, 126, 30), (4, 174, 30)])
def test_a_train_has_its_seats_once_each_and_one_coach_of_first_class(coaches: int, seats: int, first: int) -> None:
    assert len({place.number for place in places(coaches)}) == capacity(coaches) == seats
    assert len(numbers(coaches, 1)) == first
    assert len(numbers(coaches, 2)) == seats - first


@given(COACHES, st.sampled_from((1, 2)), st.sets(st.sampled_from([p.number for p in places(4)])), st.integers(1, 6))
def test_what_is_picked_is_free_and_of_the_class_or_there_is_too_little(
    coaches: int, comfort: int, taken: set[int], count: int
) -> None:
    got = pick(coaches, comfort, taken, count)
    free = numbers(coaches, comfort) - taken
    assert len(got) == (count if len(free) >= count else 0)
    assert set(got) <= free


def test_a_group_sits_in_one_coach_where_that_is_possible() -> None:
    taken = {place.number for place in places(3) if (place.coach == 2 and place.row > 1) or place.number == 201}
    assert {seat // 100 for seat in pick(3, 2, taken, 4)} == {3}


@given(COACHES, st.sets(st.sampled_from([p.number for p in places(4)])))
def test_the_drawing_shows_every_seat_as_it_is(coaches: int, taken: set[int]) -> None:
    drawn, here = drawing(coaches, taken), {place.number for place in places(coaches)}
    assert drawn.count('class="taken"') == len(here & taken)
    assert drawn.count('class="free"') == len(here - taken)
    assert all(f"{spoken(seat)}, taken" in drawn for seat in here & taken)


def test_a_seat_is_spoken_of_by_coach_and_place() -> None:
    assert spoken(214) == "coach 2 seat 14"
