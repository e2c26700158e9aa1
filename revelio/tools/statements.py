"""Questions in SQL to a database about itself, and what its rows come to beside the samples of its figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import yaml

from revelio.catalog import ResultForm, ToolSpec
from revelio.errors import SourceError
from revelio.support.bounded_yaml import read_yaml
from revelio.support.numbers import format_count
from revelio.tools.base import Scope
from revelio.tools.sample_series import SeriesAnomaly, increase
from revelio.tools.samples import Sample
from revelio.types import Cell, Query, Result


@dataclass(frozen=True, slots=True)
class StatementRows:
    """Rows with the names of their columns; ``truncated`` when there were more than the limit."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """A template's SQL, the metric of each column that counts since the statistics began, and what its rows are.

    ``dialects`` holds the SQL of servers that need other words, by their name.
    """

    sql: str
    since: Mapping[str, str] = field(default_factory=dict)
    form: ResultForm = field(default_factory=ResultForm)
    dialects: Mapping[str, str] = field(default_factory=dict)

    def of(self, dialect: str) -> str:
        """The SQL for a server that speaks this dialect."""
        return self.dialects.get(dialect, self.sql)


def statement_of(source: str, spec: ToolSpec, query: Query, dialects: tuple[str, ...] = ()) -> Statement:
    """The statement of a template's body: a mapping with it under ``sql``, or SQL alone; ``SourceError`` for any other."""
    form = spec.form_of(query.template)
    try:
        body = read_yaml(query.template.body)
    except yaml.YAMLError:
        body = query.template.body
    if isinstance(body, str) and body.strip():
        return Statement(query.template.body, {}, form)
    if not isinstance(body, dict) or not isinstance(body.get("sql"), str) or not isinstance(body.get("since", {}), dict):
        raise SourceError(source, "the query has to be SQL, or a mapping with it under `sql`, as in the bundled catalog")
    since = {str(column): str(metric) for column, metric in body.get("since", {}).items()}
    return Statement(body["sql"], since, form, {d: body[d] for d in dialects if isinstance(body.get(d), str)})


@dataclass(frozen=True, slots=True)
class Sampled:
    """What samples say beside the rows of a statement. ``name_of`` gives the name in a sample of what a row is about."""

    samples: tuple[Sample, ...]
    verdict: SeriesAnomaly
    scope: Scope
    name_of: Callable[[str, str], str]


def result_of(statement: Statement, answer: StatementRows, sampled: Sampled) -> Result:
    """The rows, counting columns as what was added since the window began where samples are as old as that."""
    rows, judged = list(answer.rows), sampled.verdict
    words = [judged.summary, format_count(len(rows), "row")]
    if statement.since and any(r.at <= sampled.scope.window.start for r in sampled.samples):
        rows = _since(statement, answer.columns, rows, sampled)
    elif statement.since:
        words.append("counted since the statistics were reset: no sample from before the window")
    return Result(
        summary="; ".join(words),
        signal=judged.signal,
        reason=judged.reason,
        columns=answer.columns,
        rows=tuple(rows),
        series=judged.series,
        kind=statement.form.kind,
        roles=statement.form.roles_of(answer.columns),
        truncated=answer.truncated,
    )


def _since(
    statement: Statement, columns: tuple[str, ...], rows: list[tuple[Cell, ...]], sampled: Sampled
) -> list[tuple[Cell, ...]]:
    """Counting columns as what was added since the window began; the largest first."""
    places = {columns.index(column): metric for column, metric in statement.since.items() if column in columns}

    def added(row: tuple[Cell, ...], metric: str) -> Cell:
        return increase(sampled.samples, metric, sampled.name_of(metric, str(row[0])), sampled.scope)

    changed = [tuple(added(row, places[i]) if i in places else cell for i, cell in enumerate(row)) for row in rows]
    first = next(iter(places), 0)
    return sorted(changed, key=lambda row: -(x if isinstance(x := row[first], int | float) else -1.0))
