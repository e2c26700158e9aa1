"""Changes of containers in the order of time."""

from __future__ import annotations

import math
from collections.abc import Iterable

from revelio.presentation.panels import Moment, Timeline
from revelio.presentation.rows import Row, rows_by_role
from revelio.types import Cell, ColumnRole, Evidence, Result

MAX_MOMENTS = 40

_CHANGE: tuple[ColumnRole, ...] = ("at", "container", "field", "old", "new")
_LISTED: tuple[ColumnRole, ...] = ("container",)
_CHECK: tuple[ColumnRole, ...] = ("container", "at", "passed", "output")


def timeline(result: Result, evidence: Evidence) -> Timeline | None:
    """Changes or health checks, or what the snapshot saw of the containers that the result lists; None without any."""
    if result.kind == "changes":
        rows = rows_by_role(result, _CHANGE)
        moments = [_moment(r["at"], r["container"], r["field"], r["old"], r["new"], evidence) for r in rows]
    elif result.kind == "health_checks":
        rows = rows_by_role(result, _CHECK)
        moments = [_moment(r["at"], r["container"], "health check", "", _checked(r), evidence) for r in rows]
    elif result.kind == "containers":
        names = {str(row["container"]) for row in rows_by_role(result, _LISTED)}
        seen = (c for c in evidence.changes if c.entity.kind == "container" and c.entity.name in names)
        moments = [_moment(c.at, c.entity.name, c.field, c.before, c.after, evidence) for c in seen]
    else:
        return None
    return _panel((m for m in moments if m is not None), evidence)


def _panel(moments: Iterable[Moment], evidence: Evidence) -> Timeline | None:
    ordered = sorted(moments, key=lambda m: (m.at, m.entity))
    if not ordered:
        return None
    return Timeline(tuple(ordered[:MAX_MOMENTS]), evidence.baseline, evidence.window, max(0, len(ordered) - MAX_MOMENTS))


def _moment(at: Cell, entity: Cell, what: Cell, before: Cell, after: Cell, evidence: Evidence) -> Moment | None:
    if not isinstance(at, int | float) or isinstance(at, bool) or not math.isfinite(at):
        return None
    during = evidence.window.start <= at <= evidence.window.end
    return Moment(float(at), str(entity), str(what or ""), str(before or ""), str(after or ""), during)


def _checked(row: Row) -> str:
    said = " ".join(str(row["output"] or "").split())
    return "passed" if row["passed"] else f"failed: {said}" if said else "failed"
