"""ES|QL that users write: what of it is let through, and what its rows show beside those of the baseline."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from revelio.support.anomaly import count_deviation, explain, signal
from revelio.support.numbers import format_count
from revelio.support.telemetry import Workers
from revelio.tools.base import Scope
from revelio.tools.log_views import Counts
from revelio.types import NO_ROLE, Cell, Result, Window

COMMANDS = frozenset({"WHERE", "EVAL", "STATS", "SORT", "LIMIT", "KEEP", "DROP", "RENAME", "DISSECT", "GROK", "MV_EXPAND"})
FUNCTIONS = frozenset(
    {
        *("AVG", "COUNT", "COUNT_DISTINCT", "MAX", "MEDIAN", "MIN", "PERCENTILE", "STD_DEV", "SUM", "TOP", "VALUES", "BUCKET"),
        *("CONCAT", "ENDS_WITH", "LEFT", "LENGTH", "LOCATE", "LTRIM", "REPLACE", "REVERSE", "RIGHT", "RTRIM", "SPLIT"),
        *("STARTS_WITH", "SUBSTRING", "TO_LOWER", "TO_UPPER", "TRIM", "MATCH", "MATCH_PHRASE", "QSTR", "KQL", "CIDR_MATCH"),
        *("DATE_DIFF", "DATE_EXTRACT", "DATE_FORMAT", "DATE_PARSE", "DATE_TRUNC", "NOW", "CASE", "COALESCE"),
        *("ABS", "CEIL", "FLOOR", "GREATEST", "LEAST", "LOG", "LOG10", "POW", "ROUND", "SQRT"),
        *("TO_BOOLEAN", "TO_DATETIME", "TO_DOUBLE", "TO_INTEGER", "TO_IP", "TO_LONG", "TO_STRING"),
        *("MV_CONCAT", "MV_COUNT", "MV_DEDUPE", "MV_FIRST", "MV_LAST", "MV_MAX", "MV_MIN"),
    }
)
"""What a query may be made of. Not among them: what reads other indices, calls models, or takes memory without end."""

_WORDS_BEFORE_BRACKETS = frozenset({"AND", "BY", "IN", "IS", "LIKE", "NOT", "OR", "RLIKE", "WHERE"})
_BEGIN = re.compile(r"\s*FROM\s", re.IGNORECASE)
_SOURCE = re.compile(r'\s*FROM\s+(?:"(?P<quoted>[^"\\\r\n]+)"|(?P<plain>[^\s"|`]+))\s*(?=\||$)', re.IGNORECASE)
_QUOTED = re.compile(r'"(?:\\[tnr"\\]|[^"\\\r\n])*"|`(?:``|[^`\r\n])*`')
_PART = re.compile(rf'(?:{_QUOTED.pattern}|[^|"`])+')
_CALL = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*\(")
_COUNTED = frozenset({"long", "integer", "unsigned_long"})
_MEASURED = _COUNTED | {"double"}

_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Table:
    """Rows, with the name and the type of each column."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Cell, ...], ...]

    def where(self, types: frozenset[str]) -> tuple[int, ...]:
        """The places of the columns of these types."""
        return tuple(n for n, (_, kind) in enumerate(self.columns) if kind in types)

    def number(self) -> float:
        """The one figure that it holds; 0 where it holds none."""
        return next((float(cell) for row in self.rows for cell in row if isinstance(cell, int | float)), 0.0)


def is_esql(body: str) -> bool:
    """Whether a question is written in ES|QL."""
    return _BEGIN.match(body) is not None


def refusal(said: str, index: str) -> str | None:
    """Why ES|QL is not let through, in words that follow "the query"; None when it is."""
    source = _SOURCE.match(said)
    if source is None or (source["quoted"] or source["plain"]) != index:
        return f"has to begin with FROM {index}, and read no other index"
    bare = _bare(said[source.end() :])
    if any(sign in bare for sign in ('"', "`", "//", "/*")) or '"""' in said:
        return "has a comment, or a quote without end; write strings in two quotes, and nothing beside the query"
    unknown = [word for word in _commands(bare) if word not in COMMANDS]
    if unknown:
        return f"uses {unknown[0]!r}, which is not asked; there are: {', '.join(sorted(COMMANDS))}"
    called = {name.upper() for name in _CALL.findall(bare)} - _WORDS_BEFORE_BRACKETS - FUNCTIONS
    return f"calls {min(called)}, which is not asked; there are: {', '.join(sorted(FUNCTIONS))}" if called else None


def table_in(answer: Mapping[str, object]) -> Table:
    """The rows of an answer. Raises ``KeyError``, ``TypeError``, ``ValueError`` or ``AttributeError`` where it is none."""
    columns = tuple((str(c["name"]), str(c["type"])) for c in answer["columns"])  # type: ignore[attr-defined]
    rows = tuple(tuple(map(_cell, row)) for row in answer["values"])  # type: ignore[attr-defined]
    if any(len(row) != len(columns) for row in rows):
        raise ValueError("rows that are not as long as their head")
    return Table(columns, rows)


def compared(said: str, scope: Scope, most: int, ask: Callable[[str, Window], Table]) -> Result:
    """The rows of the window. The signal is how many more lines there are, or how much higher a count of STATS is."""
    shown = f"{said} | LIMIT {most + 1}"
    counted = "STATS" in _commands(_bare(said))
    count = shown if counted else f"{_found(said)} | STATS lines = COUNT(*)"
    wanted = [(shown, scope.window), (count, scope.baseline), *([] if counted else [(count, scope.window)])]
    with Workers(max_workers=len(wanted)) as pool:
        now, before, *lines = pool.map(lambda asked: ask(*asked), wanted)
    if counted:
        return _groups(now, before, scope, most)
    counts = Counts(before.number(), lines[0].number())
    distance = counts.distance(scope)
    return Result(
        summary=counts.words(scope),
        signal=signal(distance),
        reason=explain(distance),
        **_shown(tuple(name for name, _ in now.columns), now.rows, most),
    )


def _groups(now: Table, before: Table, scope: Scope, most: int) -> Result:
    """Rows of STATS, each with its figures of the baseline beside."""
    figures, counts = now.where(_MEASURED), now.where(_COUNTED)
    keys = [n for n in range(len(now.columns)) if n not in figures]
    earlier = {tuple(row[n] for n in keys): row for row in before.rows} if before.columns == now.columns else {}
    rows, furthest = [], (0.0, "")
    for row in now.rows:
        key = tuple(row[n] for n in keys)
        was = earlier.get(key, (None,) * len(row))
        rows.append((*row, *(was[n] for n in figures)))
        name = ", ".join(map(str, key))
        furthest = max(furthest, *((_more(was[n], row[n], scope), name) for n in counts), key=lambda one: one[0])
    names = tuple(name for name, _ in now.columns)
    return Result(
        summary=f"{format_count(len(now.rows), 'row')} now, {len(before.rows):,} before",
        signal=signal(furthest[0]),
        reason=explain(*furthest) if counts else "no counts to compare",
        **_shown((*names, *(f"{names[n]} before" for n in figures)), rows, most),
    )


def _shown(columns: tuple[str, ...], rows: Sequence[tuple[Cell, ...]], most: int) -> dict[str, Any]:
    """A result's table."""
    roles = (NO_ROLE,) * len(columns)
    return {"columns": columns, "roles": roles, "rows": tuple(rows[:most]), "truncated": len(rows) > most, "kind": "table"}


def _more(before: Cell, now: Cell, scope: Scope) -> float:
    """How many σ a count is above that of the baseline."""
    then, here = (float(cell) if isinstance(cell, int | float) else 0.0 for cell in (before, now))
    return float(count_deviation(then, scope.baseline.seconds, here, scope.window.seconds))


def _bare(said: str) -> str:
    """The text without what stands in quotes."""
    return _QUOTED.sub(" ", said)


def _commands(bare: str) -> list[str]:
    """The first word behind each pipe."""
    words = (part.split(maxsplit=1) for part in bare.split("|")[1:])
    return [found[0].upper() if found else "" for found in words]


def _found(said: str) -> str:
    """The query without what only orders, cuts and shows the lines that it finds."""
    parts = [part.strip() for part in _PART.findall(said)]
    while parts[-1].split()[0].upper() in ("SORT", "LIMIT", "KEEP", "DROP"):
        parts.pop()
    return " | ".join(parts)


def _cell(value: object) -> Cell:
    if isinstance(value, int | float):
        return value if -_LARGEST <= value <= _LARGEST else None  # not NaN either
    if value is None or isinstance(value, str):
        return value
    return ", ".join(str(_cell(one)) for one in value) if isinstance(value, Sequence) else str(value)
