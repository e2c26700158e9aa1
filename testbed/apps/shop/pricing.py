"""Money in integer cents, and the honest work of a request: price tags, relevance, signatures."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

CURRENCIES = (("EUR", 100), ("USD", 108), ("GBP", 86), ("CHF", 97), ("SEK", 1142), ("JPY", 16210))
SIGNING_ROUNDS = 6_000


def money(cents: int) -> str:
    """1999 is 19.99."""
    return f"{cents // 100}.{cents % 100:02d}"


def price_tag(name: str, cents: int) -> dict[str, str]:
    """The price in each currency, with a check sum that keeps tags from being swapped."""
    prices = {code: money((cents * rate + 50) // 100) for code, rate in CURRENCIES}
    seal = hashlib.pbkdf2_hmac("sha256", name.encode(), b"tag", 150).hex()[:12]
    return prices | {"seal": seal}


def relevance(name: str, description: str, terms: Sequence[str]) -> float:
    """How well a product fits: shared trigrams of each term with name and description."""
    title, text = _grams(name.lower()), _grams(description.lower())
    score = 0.0
    for term in terms:
        grams = _grams(term)
        if grams:
            score += 2.0 * len(grams & title) / len(grams) + len(grams & text) / len(grams)
    return score


def total(lines: Sequence[tuple[int, int]]) -> int:
    """Sum of price x quantity."""
    return sum(price * quantity for price, quantity in lines)


def shipping(cents: int) -> int:
    """Free from 100.00, else 4.90."""
    return 0 if cents >= 10_000 else 490


def sign(text: str) -> str:
    """A slow signature."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"shop", SIGNING_ROUNDS).hex()


def _grams(text: str) -> set[str]:
    return {text[i : i + 3] for i in range(len(text) - 2)}
