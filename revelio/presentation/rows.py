"""Rows of a result by what their cells are, not by where they stand."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from revelio.types import Cell, ColumnRole, Result

Row = Mapping[ColumnRole, Cell]


def rows_by_role(result: Result, needed: Collection[ColumnRole]) -> list[Row]:
    """Every complete row as cells by role; none where the result lacks a role that is needed."""
    if not set(needed) <= set(result.roles):
        return []
    return [dict(zip(result.roles, row, strict=True)) for row in result.rows if len(row) == len(result.roles)]
