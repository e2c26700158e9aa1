"""Figures in words: three significant digits in the unit that reads best."""

from __future__ import annotations

import math

_BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def plain(value: float, unit: str) -> str:
    """``0.0123`` with ``s`` as ``12.3 ms``, ``25e6`` with ``B/s`` as ``25 MB/s``, a share ``of limit`` in percent."""
    if not math.isfinite(value):
        return "unknown"
    if unit == "s":
        return milliseconds(value * 1000.0)
    if unit in ("B", "B/s"):
        for size, name in _BYTES:
            if abs(value) >= size:
                return f"{_digits(value / size)} {name}{unit[1:]}"
    if unit.startswith("of "):
        return f"{_digits(value * 100.0)} % {unit}"
    return f"{_digits(value)} {unit}".strip()


def milliseconds(value: float) -> str:
    """``1234.5`` as ``1.23 s``."""
    return f"{_digits(value / 1000.0)} s" if abs(value) >= 1000.0 else f"{_digits(value)} ms"


def counted(number: float, noun: str) -> str:
    """``1 line``, ``2 lines``, ``1,200 lines``."""
    whole = round(number)
    return f"{whole:,} {noun}{'' if whole == 1 else 's'}"


def _digits(value: float) -> str:
    if value == 0 or abs(value) < 0.0005:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(places, 4)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
