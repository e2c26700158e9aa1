"""A trip: one train from one of its stops to a later one. Its id says it all: ``1234-ABB-HUR``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from starlette.exceptions import HTTPException

_ID = re.compile(r"^([1-9][0-9]{0,8})-([A-Z]{3})-([A-Z]{3})$")
_STATION = re.compile(r"^[A-Z]{3}$")
_DAY = re.compile(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
_CLOCK = re.compile(r"^[0-9]{2}:[0-9]{2}$")


@dataclass(frozen=True, slots=True)
class Trip:
    """``run`` is the number of the train on its day."""

    run: int
    origin: str
    destination: str

    def __str__(self) -> str:
        return f"{self.run}-{self.origin}-{self.destination}"


def trip_of(text: str) -> Trip:
    """The trip of an id; 404 when it is none."""
    found = _ID.match(text)
    if not found:
        raise HTTPException(404, "there is no such trip")
    return Trip(int(found[1]), found[2], found[3])


def station_of(text: str, name: str) -> str:
    """A station's code; 400 when it cannot be one."""
    if not _STATION.match(text):
        raise HTTPException(400, f"{name} must be a station's code of three letters")
    return text


def moment_of(day: str, clock: str) -> datetime:
    """A day like 2026-11-21 and a time like 08:30, in UTC; 400 when they are none."""
    try:
        if not (_DAY.match(day) and _CLOCK.match(clock)):
            raise ValueError
        return datetime.combine(date.fromisoformat(day), time.fromisoformat(clock), UTC)
    except ValueError:
        raise HTTPException(400, "date must be like 2026-11-21, and after like 08:30") from None
