"""Numbers as people read them: the one formatter of pages, terminal, messages and results."""

from __future__ import annotations

import math
from collections.abc import Callable

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_SECONDS, _MILLISECONDS, _BYTES = ("s", "seconds"), ("ms", "milliseconds"), ("B", "By", "bytes")


Quantity = Callable[[float, str], str]
"""Writes a number with a unit of ``ms``, ``s``, ``min``, ``%``, a multiple of bytes, any other, or none."""


def format_quantity(number: float, unit: str = "") -> str:
    """Three significant digits and the unit, in English."""
    return f"{_digits(number)} {unit}".strip()


def format_value(value: float | None, unit: str = "", *, bare: bool = False, write: Quantity = format_quantity) -> str:
    """Three significant digits with a unit: ``0.0123`` ``s`` as ``12.3 ms``, ``25e6`` ``B/s`` as ``23.8 MiB/s``.

    A share (``ratio``, ``of limit``) is in percent, what is missing or not finite a dash. ``bare`` leaves out a unit that
    is not scaled, for tables that have it in their title. ``write`` puts number and unit into another language.
    """
    if value is None or not math.isfinite(value):
        return "–"
    size, per, _ = unit.partition("/s")
    if size in _BYTES:
        return _bytes(value, write) + per
    if unit in _SECONDS or unit in _MILLISECONDS:
        return format_duration(value * 1000.0 if unit in _SECONDS else value, write)
    if unit == "ratio" or unit.startswith("of "):
        return f"{write(value * 100.0, '%')} {'' if bare or unit == 'ratio' else unit}".strip()
    return write(value, "" if bare else unit)


def format_duration(ms: float, write: Quantity = format_quantity) -> str:
    """Milliseconds as ``340 ms``, ``2.1 s`` or ``3.5 min``."""
    size = abs(ms)
    if not math.isfinite(ms):
        return "–"
    if size < 1000.0:
        return write(ms, "ms")
    return write(ms / 1000.0, "s") if size < 120_000.0 else write(ms / 60_000.0, "min")


def format_sigma(sigma: float) -> str:
    """A deviation as ``4.2σ`` or ``51σ``."""
    return f"{sigma:.1f}σ" if abs(sigma) < 9.95 else f"{sigma:,.0f}σ"


def format_count(number: float, noun: str) -> str:
    """``1 line``, ``2 lines``, ``1,200 lines``."""
    whole = round(number)
    return f"{whole:,} {noun}{'' if whole == 1 else 's'}"


def _bytes(value: float, write: Quantity) -> str:
    size, power = value, 0
    while abs(size) >= 1024.0 and power < len(_BINARY) - 1:
        size, power = size / 1024.0, power + 1
    return write(size, _BINARY[power])


def _digits(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) < 0.001:
        return f"{value:.1e}"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
