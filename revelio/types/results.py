"""What running a query returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from revelio.types.evidence import Series

Cell = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Span:
    """One span of a trace, for drawing a waterfall."""

    id: str
    parent: str | None
    service: str
    operation: str
    start: float
    duration_ms: float
    error: bool = False


_LogKind = Literal["log_lines", "log_patterns", "exceptions"]
_TraceKind = Literal["operations", "self_time", "spans"]
_StoreKind = Literal["changes", "health_checks", "containers", "sessions", "locks"]
ResultKind = Literal["unspecified", "table", "series", "flows", "name_lookups", _LogKind, _TraceKind, _StoreKind]
"""What a result is, which decides how it is drawn. Only results of older versions are ``unspecified``."""

_Compared = Literal["", "now", "before", "count", "at", "first_seen", "example", "name", "statement"]
_LogRole = Literal["service", "operation", "level", "message", "pattern", "error_type", "origin", "trace_id", "spans"]
_FlowRole = Literal["source", "target", "port", "protocol", "answer"]
_ContainerRole = Literal["container", "field", "old", "new", "passed", "output"]
_LockRole = Literal["pid", "state", "lock", "table", "mode", "granted", "waiters", "transaction_s"]
_WaitRole = Literal["blocked_pid", "blocked", "waited_s", "blocking_pid", "blocking", "blocking_statement"]
ColumnRole = Literal[_Compared, _LogRole, _FlowRole, _ContainerRole, _LockRole, _WaitRole]
"""What a column holds, whatever its title; "" where only the table shows it."""

NO_ROLE: ColumnRole = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What running a query returned: a table, series or the spans of one trace, and how strongly it points at a fault.

    ``signal`` lies in [0, 1]; ``reason`` explains it. ``took_ms`` is the time of the backend. ``kind`` says what it is and
    ``roles`` what each column holds; ``columns`` are titles for people only. ``measure`` names what ``now`` and ``before``
    of flows measure. ``error`` says why there is no result; everything else is then empty.
    """

    summary: str
    signal: float
    reason: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    series: tuple[Series, ...] = ()
    spans: tuple[Span, ...] = ()
    truncated: bool = False
    took_ms: float = 0.0
    kind: ResultKind = "unspecified"
    roles: tuple[ColumnRole, ...] = ()
    measure: str = ""
    error: str | None = None

    @classmethod
    def failed(cls, error: str) -> Result:
        """The result of a query that could not be run."""
        return cls("", 0.0, "", kind="table", error=error)


@dataclass(frozen=True, slots=True)
class RecordedResult:
    """The result that a candidate query had when its incident was recorded.

    ``healthy_signal`` is the signal of the same query on the baseline; None when it was not run, as for a normal ``result``.
    """

    template: str
    bindings: tuple[tuple[str, str], ...]
    result: Result
    healthy_signal: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The signal in [0, 1] that running a query gave: how strongly its result points at a fault."""

    template: str
    bindings: tuple[tuple[str, str], ...]
    signal: float
