"""What a cell of a table is: a moment, a number, or text."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from revelio.support.numbers import format_value
from revelio.types import Cell

_MOMENTS = (1e9, 4e9)
"""Floats between these (2001 to 2096, in Unix seconds) are moments, not numbers."""


def is_moment(cell: Cell) -> bool:
    """Whether a cell can only be a Unix time."""
    return isinstance(cell, float) and _MOMENTS[0] < cell < _MOMENTS[1]


def format_cell(cell: Cell) -> str:
    """A cell as people read it; a moment as its time of day, an absent one as ""."""
    if is_moment(cell):
        return datetime.fromtimestamp(float(cell or 0.0), UTC).strftime("%H:%M:%S UTC")
    return "" if cell is None else format_value(cell) if isinstance(cell, float) else str(cell)


def numeric(cells: Iterable[Cell]) -> bool:
    """Whether a column holds numbers only."""
    known = [c for c in cells if c is not None]
    return bool(known) and all(isinstance(c, int | float) and not isinstance(c, bool) and not is_moment(c) for c in known)
