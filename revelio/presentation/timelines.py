"""What happened to containers, in the order of time."""

from __future__ import annotations

import math
from collections.abc import Iterable

from revelio.presentation.panels import Moment, Timeline
from revelio.types import Cell, Evidence, Result

MAX_MOMENTS = 40

EVENTS = ("at", "container", "what", "before", "after")
CHECKS = ("container", "at", "passed", "output")


def timeline(result: Result, evidence: Evidence) -> Timeline | None:
    """Events that the result lists, or, for another table of containers, what the snapshot saw of those; None of neither."""
    whole = [row for row in result.rows if len(row) == len(result.columns)]
    if result.columns == EVENTS:
        moments = [_moment(row[0], row[1], row[2], row[3], row[4], evidence) for row in whole]
    elif result.columns == CHECKS:
        moments = [_moment(row[1], row[0], "health check", "", _checked(row), evidence) for row in whole]
    elif result.columns[:1] == ("container",):
        names = {str(row[0]) for row in whole}
        seen = (c for c in evidence.changes if c.entity.kind == "container" and c.entity.name in names)
        moments = [_moment(c.at, c.entity.name, c.field, c.before, c.after, evidence) for c in seen]
    else:
        return None
    return _told((m for m in moments if m is not None), evidence)


def _told(moments: Iterable[Moment], evidence: Evidence) -> Timeline | None:
    ordered = sorted(moments, key=lambda m: (m.at, m.entity))
    if not ordered:
        return None
    return Timeline(tuple(ordered[:MAX_MOMENTS]), evidence.baseline, evidence.window, max(0, len(ordered) - MAX_MOMENTS))


def _moment(at: Cell, entity: Cell, what: Cell, before: Cell, after: Cell, evidence: Evidence) -> Moment | None:
    if not isinstance(at, int | float) or isinstance(at, bool) or not math.isfinite(at):
        return None
    during = evidence.window.start <= at <= evidence.window.end
    return Moment(float(at), str(entity), str(what or ""), str(before or ""), str(after or ""), during)


def _checked(row: tuple[Cell, ...]) -> str:
    said = " ".join(str(row[3] or "").split())
    return "passed" if row[2] else f"failed: {said}" if said else "failed"
