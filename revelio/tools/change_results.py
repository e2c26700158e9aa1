"""Results that are changes: a limit, a version, a state."""

from __future__ import annotations

from revelio.types import NO_ROLE, Cell, ColumnRole, Result, ResultKind, StateChange

MAX_ROWS = 100


def change_result(
    changes: tuple[StateChange, ...],
    summary: str,
    normal: str,
    columns: tuple[str, ...],
    rows: tuple[tuple[Cell, ...], ...],
    *,
    kind: ResultKind = "containers",
    roles: tuple[ColumnRole, ...] = (),
) -> Result:
    """A change needs no comparison with the baseline: a window with one has signal 1."""
    first = changes[0] if changes else None
    return Result(
        summary=summary,
        signal=1.0 if first else 0.0,
        reason=f"{first.entity.name}: {first.field} changed to {first.after}" if first else normal,
        columns=columns,
        rows=rows[:MAX_ROWS],
        truncated=len(rows) > MAX_ROWS,
        kind=kind,
        roles=roles or ("container", *(NO_ROLE for _ in columns[1:])),
    )
