"""How hot a post is, and the seals on pages."""

from __future__ import annotations

import hashlib
import math

HOT_SQL = "sign(score) * log(greatest(abs(score), 1)) + extract(epoch FROM at) / 45000.0"
"""`hot` in SQL, over the columns ``score`` and ``at``."""
FRONT_PAGE_SCORE = 2
"""What a post must score before the front page shows it."""
SIGNING_ROUNDS = 2_500


def hot(score: int, at: float) -> float:
    """Rank of a post of that score, written at that Unix time: ten times the score makes up for twelve and a half hours."""
    return math.copysign(math.log10(max(abs(score), 1)), score) + at / 45_000


def sign(text: str) -> str:
    """A slow signature."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"forum", SIGNING_ROUNDS).hex()


def age(at: float, now: float) -> str:
    """How long ago, as people say it; what lies ahead is said so too."""
    seconds = now - at
    if seconds < -60:
        return "in the future"
    for unit, length in (("year", 31_536_000), ("month", 2_592_000), ("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count = int(seconds // length)
        if count >= 1:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"
