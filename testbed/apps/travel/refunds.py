"""What is given back for a cancelled booking: all until two days before departure, half until one hour before, then nothing."""

from __future__ import annotations

from datetime import datetime, timedelta

FULL_BEFORE = timedelta(days=2)
HALF_BEFORE = timedelta(hours=1)


def refund_percent(now: datetime, departs: datetime) -> int:
    """100, 50 or 0."""
    left = departs - now
    if left >= FULL_BEFORE:
        return 100
    return 50 if left >= HALF_BEFORE else 0


def refund(paid: int, now: datetime, departs: datetime) -> int:
    """Cents to give back of what was paid; half a cent stays with the railway."""
    return paid * refund_percent(now, departs) // 100
