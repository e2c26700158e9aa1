"""All of a catalog's PostgreSQL figures at one moment, in one statement."""

from __future__ import annotations

import time

from psycopg import sql

from revelio.catalog import Metric, ToolSpec
from revelio.errors import SourceError
from revelio.tools.postgres.connection import APPLICATION, Database, RefusedError
from revelio.tools.postgres.sql import query_of
from revelio.tools.samples import Sample
from revelio.tools.statements import StatementRows

MAX_FIGURES = 2_000
_AGE = "SELECT 'all', extract(epoch FROM clock_timestamp() - coalesce(stats_reset, pg_postmaster_start_time()))"
_COUNTING = f"{_AGE} FROM pg_stat_database WHERE datname = current_database()"
_SEES = "SELECT current_user, pg_has_role('pg_read_all_stats', 'USAGE')::int"


class PostgresSampler:
    """Takes samples. Figures that this server does not have (an extension, a column of another version) are left out."""

    def __init__(self, spec: ToolSpec, database: Database) -> None:
        """``spec.metrics`` holds a query of names and figures for each."""
        self.name = spec.name
        self.of_tables = frozenset(m.name for m in spec.metrics if m.entity == "table")
        self._all = spec.metrics
        self._known = spec.metrics
        self._database = database

    def look(self, deadline: float) -> Sample:
        """One sample; ``SourceError`` when the server does not answer before the deadline."""
        try:
            answer = self._asked(self._known, deadline)
        except RefusedError:
            self._known = tuple(m for m in self._all if self._has(m, deadline))
            answer = self._asked(self._known, deadline)
        at, counting = time.time(), 0.0
        values: dict[tuple[str, str], float] = {}
        kinds = {m.name: m.entity for m in self._known}
        for row in answer.rows:
            try:
                metric, name, value = str(row[0]), str(row[1]), float(row[2] or 0.0)
            except (IndexError, ValueError, TypeError) as error:
                raise SourceError(self.name, "answered in a form that is not PostgreSQL's; is its url right?") from error
            if metric == "":
                counting = value
            elif metric == "sees" and not value:
                raise SourceError(self.name, f"its role {name} may not see other sessions; GRANT pg_monitor TO {name}")
            elif name and metric in kinds and not (kinds.get(metric) == "service" and name == APPLICATION):
                values[metric, self.name_of(kinds.get(metric, ""), name)] = value
        return Sample(at, values, counting)

    def name_of(self, kind: str, name: str) -> str:
        """The entity's name: the server's own figures are under its name, a table's name has it in front."""
        if kind == "postgres_server":
            return self.name
        return f"{self.name}: {name}" if kind == "table" else name

    def _asked(self, metrics: tuple[Metric, ...], deadline: float) -> StatementRows:
        return self._database.ask(_together(metrics), {}, MAX_FIGURES, deadline)

    def _has(self, metric: Metric, deadline: float) -> bool:
        try:
            self._asked((metric,), deadline)
        except RefusedError:
            return False
        return True


def _together(metrics: tuple[Metric, ...]) -> sql.Composed:
    """Figures as rows of metric, name and value; since when they have been counted under the empty metric."""
    parts = [("", _COUNTING), ("sees", _SEES), *((m.name, m.query) for m in metrics)]
    selects = [
        sql.SQL("SELECT {}::text, q.name::text, q.value::float8 FROM ({}) AS q (name, value)").format(
            sql.Literal(name), query_of(text, {})
        )
        for name, text in parts
    ]
    return sql.SQL("\nUNION ALL ").join(selects)
