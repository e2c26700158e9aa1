"""PostgreSQL: what the database knows of its sessions, locks, tables and statements, through its own statistics views."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import yaml
from psycopg import sql

from revelio.bounded_yaml import read_yaml
from revelio.catalog import ResultForm, ToolSpec
from revelio.errors import SourceError
from revelio.numbers import format_count
from revelio.settings import Backend
from revelio.tools.base import Limits, Scope
from revelio.tools.placeholders import values
from revelio.tools.postgres.connection import APPLICATION, Answer, Database, FullError, RefusedError
from revelio.tools.postgres.sampling import PostgresSampler
from revelio.tools.postgres.sql import masked, query_of, text_of
from revelio.tools.sample_series import Verdict, increase, series_of, verdict
from revelio.tools.samples import Sample, Sampler
from revelio.types import Cell, Entity, Evidence, Query, Result

SERVER, TABLE, CLIENT = "postgres_server", "table", "postgres_client"
"""Kinds of entities that only this tool names: its questions are candidates where it looked, and nowhere else."""

_VERSION = sql.Composed(
    [sql.SQL("SELECT split_part(version(), ' ', 2), pg_has_role('pg_read_all_stats', 'USAGE'), current_user::text")]
)


@dataclass(frozen=True, slots=True)
class _Question:
    """A template's SQL, the metric of each column that counts since the statistics began, and what its rows are."""

    sql: str
    since: Mapping[str, str]
    form: ResultForm


class Postgres:
    """The ``postgres`` tool: one application's database."""

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.name = spec.name
        self.retrospective = False
        self.spec = spec
        self.backend = backend
        self.limits = limits
        self._database = Database(spec.name, backend.url, limits)
        self._watched = Database(spec.name, backend.url, limits)
        self._reader = PostgresSampler(spec, self._watched)
        self._sampler = Sampler(spec.name, self._reader.look, limits.seconds)
        self._shown = spec.shown

    def ping(self) -> str:
        """The server's version; ``SourceError`` also when the role may not see what it is asked for."""
        rows = self._database.ask(_VERSION, {}).rows
        if len(rows) != 1 or len(rows[0]) != 3:
            raise SourceError(self.name, f"{self._database.place} does not answer like PostgreSQL; is its url right?")
        version, sees, role = rows[0]
        if not sees:
            raise SourceError(self.name, f"its role {role} may not see other sessions; GRANT pg_monitor TO {role}")
        return f"PostgreSQL {version}"

    def snapshot(self, scope: Scope) -> Evidence:
        """Its statistics over baseline and window: one statement, and the samples taken before."""
        samples = self._sampler.samples(time.monotonic() + self.limits.seconds)
        tables = {name for r in samples[-1:] for metric, name in r.values if metric in self._reader.of_tables}
        clients = {n for r in samples if r.at >= scope.baseline.start for metric, n in r.values if metric == "pg_sessions"}
        named = {Entity(TABLE, name) for name in tables} | {Entity(CLIENT, name) for name in clients}
        return Evidence(
            window=scope.window,
            baseline=scope.baseline,
            entities=tuple(sorted({Entity(SERVER, self.name)} | named)),
            series=series_of(samples, self._shown, scope),
        )

    def render(self, query: Query, scope: Scope) -> str:
        """SQL."""
        return text_of(self._question(query).sql, self._values(query, scope))

    def link(self, query: Query, scope: Scope) -> str | None:
        """PostgreSQL has no web page."""
        return None

    def run(self, query: Query, scope: Scope) -> Result:
        """The rows as they are now; the signal compares the window with the baseline."""
        question, filling = self._question(query), self._values(query, scope)
        deadline = time.monotonic() + self.limits.seconds
        try:
            samples = self._sampler.samples(deadline)
            answer = self._database.ask(query_of(question.sql, filling), filling, deadline=deadline)
        except FullError as error:
            if any(r.metric == "pg_connections" for r in query.template.reads):
                return Result(error.reason, 1.0, "the database refuses further connections", kind="table")
            raise
        except RefusedError as error:
            if "pg_stat_statements" in question.sql and "pg_stat_statements" in error.reason:
                return Result("pg_stat_statements is not installed in this database", 0.0, "nothing was measured", kind="table")
            raise
        judged = verdict(query, series_of(samples, self._shown, scope), self._shown, scope, self.name)
        return self._result(question, answer, samples, judged, scope)

    def close(self) -> None:
        """Stop reading and close the connections."""
        self._sampler.close()
        self._watched.close()
        self._database.close()

    def _question(self, query: Query) -> _Question:
        form = self.spec.form_of(query.template)
        try:
            body = read_yaml(query.template.body)
        except yaml.YAMLError:
            body = query.template.body
        if isinstance(body, str) and body.strip():
            return _Question(query.template.body, {}, form)
        if not isinstance(body, dict) or not isinstance(body.get("sql"), str) or not isinstance(body.get("since", {}), dict):
            raise SourceError(self.name, "the query has to be SQL, or a mapping with it under `sql`, as in the bundled catalog")
        return _Question(body["sql"], {str(k): str(v) for k, v in body.get("since", {}).items()}, form)

    def _values(self, query: Query, scope: Scope) -> dict[str, str]:
        """What fills each placeholder; a table's entity carries the server's name in front."""
        own = {b.name for b in query.template.blanks if b.kind == TABLE}
        return {n: v.removeprefix(f"{self.name}: ") if n in own else v for n, v in values(query, scope).items()}

    def _result(self, question: _Question, answer: Answer, samples: tuple[Sample, ...], judged: Verdict, scope: Scope) -> Result:
        rows = [_shown(answer.columns, row) for row in answer.rows if APPLICATION not in row]
        words = [judged.summary, format_count(len(rows), "row")]
        if question.since and any(r.at <= scope.window.start for r in samples):
            rows = self._since(question, answer.columns, rows, samples, scope)
        elif question.since:
            words.append("counted since the statistics were reset: no sample from before the window")
        return Result(
            summary="; ".join(words),
            signal=judged.signal,
            reason=judged.reason,
            columns=answer.columns,
            rows=tuple(rows),
            series=judged.series,
            kind=question.form.kind,
            roles=question.form.roles_of(answer.columns),
            truncated=answer.truncated,
        )

    def _since(
        self,
        question: _Question,
        columns: tuple[str, ...],
        rows: list[tuple[Cell, ...]],
        samples: tuple[Sample, ...],
        scope: Scope,
    ) -> list[tuple[Cell, ...]]:
        """Counting columns as what was added since the window began; the largest first."""
        places = {columns.index(column): metric for column, metric in question.since.items() if column in columns}
        kinds = {m.name: m.entity for m in self.spec.metrics}

        def increase_of(row: tuple[Cell, ...], place: int, metric: str) -> Cell:
            key = str(row[0]) if kinds.get(metric) == "statement" else self._reader.name_of(kinds.get(metric, ""), str(row[0]))
            return increase(samples, metric, key, scope)

        changed = [tuple(increase_of(row, i, places[i]) if i in places else cell for i, cell in enumerate(row)) for row in rows]
        first = next(iter(places), 0)
        return sorted(changed, key=lambda row: -(x if isinstance(x := row[first], int | float) else -1.0))


def _shown(columns: tuple[str, ...], row: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """A row with the values taken out of its statements."""
    return tuple(
        masked(cell) if isinstance(cell, str) and name.endswith("statement") else cell
        for name, cell in zip(columns, row, strict=True)
    )
