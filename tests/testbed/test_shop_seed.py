"""What the shop's users know of its first data is so in the first data."""

from __future__ import annotations

import re

import pytest

from apps.shop import seed
from testbed.users.visitors import shop as visitors
from testbed.users.walks import shop


def test_visitors_leave_limited_editions_alone() -> None:
    assert seed.PRODUCTS - seed.LIMITED == visitors.PRODUCTS
    visited = {next(visitors.Visitor("http://shop", number).products) for number in range(20)}
    assert max(visited) <= visitors.PRODUCTS


def test_customers_of_old_can_sign_in() -> None:
    assert (seed.ACCOUNTS, seed.PASSWORD) == (shop.OLD_ACCOUNTS, shop.OLD_PASSWORD)


def test_the_promised_tariff_is_the_seeded_one() -> None:
    home = re.findall(r"\('home', (\d+), (\d+)\)", seed.CARRIAGE)
    assert [(int(grams), int(cents)) for grams, cents in home] == list(visitors.PARCELS)
    assert f"('DE', 'home', {visitors.FREE_FROM}, {shop.DAYS}, {shop.CUT_OFF})" in seed.CARRIAGE


@pytest.mark.parametrize("word", shop.SEARCHED)
def test_a_word_that_is_searched_names_products_and_is_in_no_description(word: str) -> None:
    assert word in (seed.MAKES + seed.THINGS).lower()
    assert word not in seed.WORDS
