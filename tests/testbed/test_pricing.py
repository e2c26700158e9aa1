"""Money is counted in cents and adds up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.shop.pricing import money, price_tag, sign, total


@pytest.mark.parametrize(("cents", "text"), [(0, "0.00"), (5, "0.05"), (1999, "19.99"), (100_000, "1000.00")])
def test_money_is_written_with_two_places(cents: int, text: str) -> None:
    assert money(cents) == text


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 99)), max_size=20))
def test_a_total_is_the_sum_of_its_lines_in_any_order(lines: list[tuple[int, int]]) -> None:
    assert total(lines) == total(lines[::-1]) == sum(total([line]) for line in lines)


def test_the_tag_shows_the_price_itself_in_euro_and_is_sealed() -> None:
    tag = price_tag("Oak lamp", 1999)
    assert tag["EUR"] == "19.99"
    assert tag["seal"] != price_tag("Oak lamp no. 2", 1999)["seal"]


def test_a_signature_depends_on_every_character() -> None:
    assert sign("a/1") != sign("a/2")
