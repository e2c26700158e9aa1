"""What is hot, what is on top, and how old things are said to be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.forum.ranking import age, hot, sign

SCORES = st.integers(-10_000, 10_000)
TIMES = st.floats(1.7e9, 1.9e9)


@given(SCORES, SCORES, TIMES)
def test_of_two_posts_of_one_age_the_better_liked_is_no_colder(one: int, other: int, at: float) -> None:
    assert (hot(one, at) <= hot(other, at)) or one > other


@given(SCORES, TIMES, st.floats(1, 1e6))
def test_of_two_posts_of_one_score_the_newer_is_hotter(score: int, at: float, later: float) -> None:
    assert hot(score, at + later) > hot(score, at)


def test_ten_times_the_score_makes_up_for_twelve_and_a_half_hours() -> None:
    assert hot(100, 1.8e9) == pytest.approx(hot(10, 1.8e9 + 12.5 * 3600))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3600, "in the future"),
        (-5, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (7199, "1 hour ago"),
        (86_400 * 3, "3 days ago"),
        (86_400 * 800, "2 years ago"),
    ],
)
def test_ages_are_said_as_people_say_them(seconds: float, text: str) -> None:
    assert age(1.8e9, 1.8e9 + seconds) == text


def test_a_seal_depends_on_every_character() -> None:
    assert sign("/:a") != sign("/:b")
