"""PostgreSQL: what the database knows of its sessions, locks, tables and statements, through its own statistics views."""

from __future__ import annotations

import time
from dataclasses import replace

from psycopg import sql

from revelio.catalog import ToolSpec
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits, Scope
from revelio.tools.placeholders import values
from revelio.tools.postgres.connection import APPLICATION, Database, FullError, RefusedError
from revelio.tools.postgres.sampling import PostgresSampler
from revelio.tools.postgres.sql import masked, query_of, text_of
from revelio.tools.sample_series import series_of, verdict
from revelio.tools.samples import Sampler
from revelio.tools.statements import Sampled, Statement, result_of, statement_of
from revelio.types import Cell, Entity, Evidence, Query, Result

SERVER, TABLE, CLIENT = "postgres_server", "table", "postgres_client"
"""Kinds of entities that only this tool names: its questions are candidates where it looked, and nowhere else."""

_VERSION = sql.Composed(
    [sql.SQL("SELECT split_part(version(), ' ', 2), pg_has_role('pg_read_all_stats', 'USAGE'), current_user::text")]
)


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
        self._kinds = {m.name: m.entity for m in spec.metrics}

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
        rows = tuple(_shown(answer.columns, row) for row in answer.rows if APPLICATION not in row)
        return result_of(question, replace(answer, rows=rows), Sampled(samples, judged, scope, self._name_of))

    def close(self) -> None:
        """Stop reading and close the connections."""
        self._sampler.close()
        self._watched.close()
        self._database.close()

    def _question(self, query: Query) -> Statement:
        return statement_of(self.name, self.spec, query)

    def _values(self, query: Query, scope: Scope) -> dict[str, str]:
        """What fills each placeholder; a table's entity carries the server's name in front."""
        own = {b.name for b in query.template.blanks if b.kind == TABLE}
        return {n: v.removeprefix(f"{self.name}: ") if n in own else v for n, v in values(query, scope).items()}

    def _name_of(self, metric: str, name: str) -> str:
        """What a figure of this metric is called in a sample."""
        return self._reader.name_of(self._kinds.get(metric, ""), name)


def _shown(columns: tuple[str, ...], row: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """A row with the values taken out of its statements."""
    return tuple(
        masked(cell) if isinstance(cell, str) and name.endswith("statement") else cell
        for name, cell in zip(columns, row, strict=True)
    )
