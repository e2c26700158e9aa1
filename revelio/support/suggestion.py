"""What to name in place of a name that is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

CLOSE, VERY_CLOSE = 0.6, 0.75
"""Shares of characters in common, of 1, from which on a name may be, and surely is, a misspelling of another."""

_LISTED = 20


def closest(wanted: str, there: Iterable[str], share: float = CLOSE) -> str:
    """The name that was probably meant; "" where none has that ``share`` of characters in common."""
    return next(iter(get_close_matches(wanted, list(there), 1, share)), "")


def suggestion(wanted: str, there: Iterable[str]) -> str:
    """The name that was probably meant, as a question; all names where none is close."""
    names = list(there)
    close = closest(wanted, names)
    return f"did you mean {close}?" if close else f"there are: {', '.join(names[:_LISTED])}{', …' if names[_LISTED:] else ''}"
