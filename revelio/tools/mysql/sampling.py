"""All of a catalog's MySQL figures at one moment: one statement, and a SHOW for what no table holds."""

from __future__ import annotations

import time
from collections.abc import Iterable

from revelio.catalog import Metric, ToolSpec
from revelio.errors import SourceError
from revelio.tools.mysql.connection import MARIADB, Database, RefusedError
from revelio.tools.samples import Sample
from revelio.tools.statements import StatementRows
from revelio.types import Cell

SERVER, CLIENT, REPLICA = "mysql_server", "mysql_client", "mysql_replica"
"""Kinds of entities that only this tool names: its questions are candidates where it looked, and nowhere else."""

MAX_FIGURES = 2_000
_UPTIME = "SELECT 'all', variable_value FROM ${global_status} WHERE variable_name = 'Uptime'"
_STATUS = {MARIADB: "information_schema.GLOBAL_STATUS"}
_LAG = ("Seconds_Behind_Source", "Seconds_Behind_Master")


def words(statement: str, dialect: str) -> str:
    """The statement with the name that this dialect has for the table of the server's counters."""
    return statement.replace("${global_status}", _STATUS.get(dialect, "performance_schema.global_status"))


class MysqlSampler:
    """Takes samples. Figures that this server does not have (a table or column of another version) are left out."""

    def __init__(self, spec: ToolSpec, database: Database) -> None:
        """``spec.metrics`` holds a query of names and figures for each; that of the lag is a SHOW."""
        self.name = spec.name
        self._all = tuple(m for m in spec.metrics if not _shows(m))
        self._shows = tuple(m for m in spec.metrics if _shows(m))
        self._known = self._all
        self._kinds = {m.name: m.entity for m in spec.metrics}
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
        for metric, name, value in self._figures(answer):
            if metric == "":
                counting = value
            elif name and metric in self._kinds:
                values[metric, self.name_of(metric, name)] = value
        for shown in self._shows:
            values |= {(shown.name, self.name_of(shown.name, "all")): lag for lag in self._lag(shown, deadline)}
        return Sample(at, values, counting)

    def name_of(self, metric: str, name: str) -> str:
        """The entity's name: the server's own figures are under its name."""
        return self.name if self._kinds.get(metric) in (SERVER, REPLICA) else name

    def _figures(self, answer: StatementRows) -> Iterable[tuple[str, str, float]]:
        try:
            return [(str(row[0]), str(row[1]), _number(row[2])) for row in answer.rows]
        except (IndexError, ValueError, TypeError) as error:
            raise SourceError(self.name, "answered in a form that is not MySQL's; is its url right?") from error

    def _lag(self, metric: Metric, deadline: float) -> list[float]:
        """How far each source is ahead, the furthest last; none where the server is no replica, or does not tell."""
        try:
            answer = self._database.ask(lambda dialect: metric.query, deadline=deadline)
        except RefusedError:
            return []
        place = next((answer.columns.index(name) for name in _LAG if name in answer.columns), None)
        return [] if place is None else sorted(_number(row[place]) for row in answer.rows if row[place] is not None)

    def _asked(self, metrics: tuple[Metric, ...], deadline: float) -> StatementRows:
        parts = [("", _UPTIME), *((m.name, m.query) for m in metrics)]
        figures = (f"(SELECT '{name}' AS metric, q.* FROM ({text}) AS q)" for name, text in parts)  # noqa: S608  # the catalog's
        every = f"SELECT revelio.* FROM ({' UNION ALL '.join(figures)}) AS revelio"  # noqa: S608
        return self._database.ask(lambda dialect: words(every, dialect), MAX_FIGURES, deadline)

    def _has(self, metric: Metric, deadline: float) -> bool:
        try:
            self._asked((metric,), deadline)
        except RefusedError:
            return False
        return True


def _shows(metric: Metric) -> bool:
    return metric.query.startswith("SHOW")


def _number(value: Cell) -> float:
    return float(value or 0.0)
