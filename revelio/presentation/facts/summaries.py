"""What a result shows, said as a fact where its own summary only counts: new log patterns, versions, limits."""

from __future__ import annotations

from revelio.presentation.facts.changes import told
from revelio.presentation.facts.fact import Fact
from revelio.presentation.facts.figures import version
from revelio.presentation.facts.logs import patterns_of, worst
from revelio.presentation.rows import rows_by_role
from revelio.types import ColumnRole, Evidence, Result

_LISTED: tuple[ColumnRole, ...] = ("container",)


def summary_of(result: Result, evidence: Evidence) -> str:
    """The summary in words that name what changed, also for recordings of versions that wrote others; "" where it stays."""
    fact = _fact(result, evidence)
    if fact is None:
        return ""
    before = next((part for part in fact.words if isinstance(part, str)), "")
    return before.removesuffix(" at ").removesuffix(" since ").removesuffix(",")


def _fact(result: Result, evidence: Evidence) -> Fact | None:
    if result.kind == "log_patterns":
        return worst(patterns_of(result, evidence))
    if result.kind == "series":
        return version(result.series, evidence)
    if result.kind == "containers" and result.summary.startswith("limits changed"):
        names = {str(row["container"]) for row in rows_by_role(result, _LISTED)}
        changed = [c for c in evidence.changes if c.field == "limits" and c.entity.name in names]
        return told(changed[0], changed) if changed else None
    return None
