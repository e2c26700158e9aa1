"""Numbers, units, times and lists as another language than English writes them, by Unicode's locale data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from babel.dates import format_date, format_skeleton, get_datetime_format
from babel.lists import format_list
from babel.numbers import format_decimal, format_percent, format_scientific
from babel.units import format_unit

_DURATIONS = {"ms": "duration-millisecond", "s": "duration-second", "min": "duration-minute"}
_NO_BREAK = "\u00a0"


def quantity(locale: str, number: float, unit: str = "") -> str:
    """Three significant digits and the unit."""
    if unit == "%":
        return format_percent(_rounded(number) / 100, locale=locale, decimal_quantization=False)
    digits = format_scientific(number, "0.0E0", locale=locale) if 0 < abs(number) < 0.001 else decimal(locale, _rounded(number))
    if unit in _DURATIONS:
        return format_unit(_rounded(number), _DURATIONS[unit], "short", "#,##0.#####", locale=locale)
    return f"{digits}{_NO_BREAK}{unit}" if unit else digits


def decimal(locale: str, number: Decimal | float, places: int | None = None) -> str:
    """A number with so many decimals, or with those it has."""
    if places is None:
        return format_decimal(number, locale=locale, decimal_quantization=False)
    return format_decimal(number, "#,##0." + "0" * places if places else "#,##0", locale=locale)


def percent(locale: str, share: float) -> str:
    """A share as a whole percentage."""
    return format_percent(share, locale=locale)


def moment(locale: str, when: datetime) -> str:
    """Date and time to the minute, in UTC."""
    day, clock = format_date(when, "medium", locale=locale), format_skeleton("Hm", when, locale=locale)
    return f"{_joined(locale, day, clock)} UTC"


def clock(locale: str, when: datetime) -> str:
    """The time of day to the second."""
    return format_skeleton("Hms", when, locale=locale)


def day_and_clock(locale: str, when: datetime) -> str:
    """The day without its year, and the time to the second."""
    return _joined(locale, format_skeleton("MMMd", when, locale=locale), clock(locale, when))


def listed(locale: str, words: Sequence[str]) -> str:
    """The words as a list that ends with "and"."""
    return format_list(words, locale=locale)


def _joined(locale: str, day: str, time: str) -> str:
    pattern = str(get_datetime_format("medium", locale=locale)).replace("'", "")
    return pattern.replace("{1}", day).replace("{0}", time)


def _rounded(number: float) -> Decimal:
    if number == 0:
        return Decimal(0)
    places = max(0, 2 - math.floor(math.log10(abs(number))))
    return Decimal(f"{number:.{places}f}").normalize()
