"""What a journey costs, in integer cents: the same figure for the same journey, whenever it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

CARDS = {"none": 0, "quarter": 25, "half": 50, "youth": 40}
"""Discount cards and what they take off, in percent."""
CLASSES = (1, 2)
MOST_PASSENGERS = 6
_MILLS_PER_KM = ((50, 245), (100, 218), (200, 187), (400, 156), (10_000, 131))
"""Up to so many kilometres, each costs so many thousandths of a unit: the farther, the cheaper."""
_CATEGORY_PERCENT = {"IC": 118, "RE": 100, "RB": 92}
_FIRST_CLASS_PERCENT = 160
_BUSY_DAY_PERCENT = {4: 112, 6: 108}
"""Fridays and Sundays."""
_LEAST_CENTS = 190
_STEP_CENTS = 5


@dataclass(frozen=True, slots=True)
class Journey:
    """What the price depends on, apart from the passengers."""

    km: int
    category: str
    day: date


@dataclass(frozen=True, slots=True)
class Line:
    """One passenger: the full fare, what the card takes off in percent, and what is to pay."""

    passenger: str
    base: int
    discount: int
    amount: int


@dataclass(frozen=True, slots=True)
class Fare:
    """What all passengers pay."""

    lines: tuple[Line, ...]

    @property
    def total(self) -> int:
        """In cents."""
        return sum(line.amount for line in self.lines)


def fare(journey: Journey, comfort: int, adults: int, children: int, card: str) -> Fare:
    """The fare of a party. Children pay half of the full fare; the card counts for everybody."""
    full = base_cents(journey, comfort)
    half = _rounded(full // 2)
    discount = CARDS[card]
    passengers = [("adult", full)] * adults + [("child", half)] * children
    return Fare(tuple(Line(who, base, discount, reduced(base, discount)) for who, base in passengers))


def comparison(journey: Journey, adults: int, children: int) -> dict[str, dict[str, int]]:
    """What the same party would pay in each class with each card, by class and card."""
    return {str(comfort): {card: fare(journey, comfort, adults, children, card).total for card in CARDS} for comfort in CLASSES}


def base_cents(journey: Journey, comfort: int) -> int:
    """One adult's full fare, the tariff added up kilometre by kilometre."""
    mills = sum(_mills_of(km) for km in range(1, journey.km + 1))
    percent = _CATEGORY_PERCENT[journey.category] * _BUSY_DAY_PERCENT.get(journey.day.weekday(), 100)
    if comfort == 1:
        percent = percent * _FIRST_CLASS_PERCENT // 100
    return max(_LEAST_CENTS, _rounded(mills * percent // 100_000))


def reduced(base: int, discount: int) -> int:
    """A full fare less so many percent, down to the next five cents."""
    return _rounded(base * (100 - discount) // 100)


def money(cents: int) -> str:
    """1999 is 19.99."""
    return f"{cents // 100}.{cents % 100:02d}"


def _mills_of(km: int) -> int:
    return next(mills for up_to, mills in _MILLS_PER_KM if km <= up_to)


def _rounded(cents: int) -> int:
    return cents - cents % _STEP_CENTS
