"""What a cell of a table is: a moment, a figure, or text."""

from __future__ import annotations

from collections.abc import Iterable

from revelio.types import Cell

_MOMENTS = (1e9, 4e9)
"""Floats between these (2001 to 2096, in Unix seconds) are moments, no figures."""


def is_moment(cell: Cell) -> bool:
    """Whether a cell can only be a Unix time."""
    return isinstance(cell, float) and _MOMENTS[0] < cell < _MOMENTS[1]


def numeric(cells: Iterable[Cell]) -> bool:
    """Whether a column holds figures only."""
    known = [c for c in cells if c is not None]
    return bool(known) and all(isinstance(c, int | float) and not isinstance(c, bool) and not is_moment(c) for c in known)
