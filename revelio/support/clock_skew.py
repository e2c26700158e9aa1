"""Clocks that disagree: then what happened is looked for at another time than it was measured."""

from __future__ import annotations

SKEW_S = 30.0
"""A difference of clocks that moves a window by more than a scrape or two, in seconds."""


def disagreement(ahead_s: float) -> str:
    """A sentence on a clock that is so far ahead of the one here; "" where it is not far enough to matter."""
    if abs(ahead_s) < SKEW_S:
        return ""
    told = f"its clock is {abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'} the one here"
    return f"{told}: what happened is looked for at another time than it was measured; synchronise the clocks"
