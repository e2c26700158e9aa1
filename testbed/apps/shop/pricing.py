"""Money in integer cents, and the honest work of a request: price tags and signatures."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

CURRENCIES = (("EUR", 100), ("USD", 108), ("GBP", 86), ("CHF", 97), ("SEK", 1142), ("JPY", 16210))
SIGNING_ROUNDS = 10_000


def money(cents: int) -> str:
    """1999 is 19.99."""
    return f"{cents // 100}.{cents % 100:02d}"


def price_tag(name: str, cents: int) -> dict[str, str]:
    """The price in each currency, with a check sum that keeps tags from being swapped."""
    prices = {code: money((cents * rate + 50) // 100) for code, rate in CURRENCIES}
    seal = hashlib.pbkdf2_hmac("sha256", name.encode(), b"tag", 300).hex()[:12]
    return prices | {"seal": seal}


def total(lines: Sequence[tuple[int, int]]) -> int:
    """Sum of price x quantity."""
    return sum(price * quantity for price, quantity in lines)


def sign(text: str) -> str:
    """A slow signature."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"shop", SIGNING_ROUNDS).hex()
