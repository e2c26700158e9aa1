"""What delivery costs and when it arrives: pure sums over a zone and its tariff."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Zone:
    """Where something goes: ``free_from`` in cents, ``days`` working days on the way, ``cut_off`` an hour (UTC).

    ``tariff`` has (grams up to which, cents) from the lightest to the heaviest parcel.
    """

    country: str
    free_from: int
    days: int
    cut_off: int
    tariff: tuple[tuple[int, int], ...]


def cost(zone: Zone, grams: int, goods: int) -> int:
    """Cents for so many grams worth so many cents; what is too heavy for one parcel goes in several."""
    if goods >= zone.free_from:
        return 0
    largest, dearest = zone.tariff[-1]
    parcels, rest = divmod(grams, largest)
    return parcels * dearest + (_parcel(zone.tariff, rest) if rest or not parcels else 0)


def arrival(zone: Zone, ordered: dt.datetime) -> dt.date:
    """The day on which an order of that moment arrives: working days only, the next one when the cut-off is past."""
    ordered = ordered.astimezone(dt.UTC)
    day = ordered.date()
    if ordered.hour >= zone.cut_off:
        day += dt.timedelta(days=1)
    day = _working(day)
    for _ in range(zone.days):
        day = _working(day + dt.timedelta(days=1))
    return day


def _parcel(tariff: Sequence[tuple[int, int]], grams: int) -> int:
    return next(cents for up_to, cents in tariff if grams <= up_to)


def _working(day: dt.date) -> dt.date:
    """The day itself, or the Monday after a weekend."""
    return day + dt.timedelta(days=max(0, 7 - day.weekday())) if day.weekday() >= 5 else day
