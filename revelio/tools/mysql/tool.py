"""MySQL and MariaDB: what the server knows of its sessions, locks, statements and replication, through its own tables."""

from __future__ import annotations

import time
from dataclasses import replace

from revelio.catalog import ToolSpec
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits, Scope
from revelio.tools.mysql.connection import MARIADB, MYSQL, Database, FullError, RefusedError
from revelio.tools.mysql.sampling import CLIENT, REPLICA, SERVER, MysqlSampler, words
from revelio.tools.mysql.sql import masked, sent, text_of
from revelio.tools.placeholders import values
from revelio.tools.sample_series import series_of, verdict
from revelio.tools.samples import Sampler
from revelio.tools.statements import Sampled, Statement, result_of, statement_of
from revelio.types import Cell, Entity, Evidence, Query, Result

_TITLES = {MARIADB: "MariaDB", MYSQL: "MySQL"}
_KINDS = {"mysql_sessions": CLIENT, "mysql_replication_lag": REPLICA}
"""Metrics whose names in a sample are entities."""


class Mysql:
    """The ``mysql`` tool: one server."""

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.name = spec.name
        self.retrospective = False
        self.spec = spec
        self.limits = limits
        self._database = Database(spec.name, backend, limits)
        self._reader = MysqlSampler(spec, self._database)
        self._sampler = Sampler(spec.name, self._reader.look, limits.seconds)
        self._shown = spec.shown

    def ping(self) -> str:
        """The server's version; ``SourceError`` also when the user may not see what it is asked for."""
        rows = self._database.ask(lambda dialect: "SELECT VERSION(), CURRENT_USER()").rows
        if len(rows) != 1 or len(rows[0]) != 2:
            raise SourceError(self.name, f"{self._database.place} does not answer like MySQL; is its url right?")
        version, user = map(str, rows[0])
        try:
            self._database.ask(lambda dialect: "SELECT COUNT(*) FROM information_schema.INNODB_TRX")
        except RefusedError as error:
            raise SourceError(self.name, f"its user {user} may not see other sessions; GRANT PROCESS ON *.* TO it") from error
        title = _TITLES[MARIADB if MARIADB in version.lower() else MYSQL]
        return f"{title} {version.partition('-')[0]}"

    def snapshot(self, scope: Scope) -> Evidence:
        """Its figures over baseline and window: one statement, and the samples taken before."""
        samples = self._sampler.samples(time.monotonic() + self.limits.seconds)
        recent = [r for r in samples if r.at >= scope.baseline.start]
        named = {Entity(_KINDS[metric], name) for r in recent for metric, name in r.values if metric in _KINDS}
        return Evidence(
            window=scope.window,
            baseline=scope.baseline,
            entities=tuple(sorted({Entity(SERVER, self.name)} | named)),
            series=series_of(samples, self._shown, scope),
        )

    def render(self, query: Query, scope: Scope) -> str:
        """SQL, as MariaDB or MySQL take it: where they differ, both."""
        statement, filling = self._question(query), values(query, scope)
        said = {_TITLES[dialect]: text_of(words(statement.of(dialect), dialect), filling) for dialect in (MYSQL, MARIADB)}
        if len(set(said.values())) == 1:
            return said[_TITLES[MYSQL]]
        return "\n".join(f"-- {title}:\n{text};" for title, text in said.items())

    def link(self, query: Query, scope: Scope) -> str | None:
        """MySQL has no web page."""
        return None

    def run(self, query: Query, scope: Scope) -> Result:
        """The rows as they are now; the signal compares the window with the baseline."""
        statement, filling = self._question(query), values(query, scope)
        deadline = time.monotonic() + self.limits.seconds
        try:
            samples = self._sampler.samples(deadline)
            answer = self._database.ask(lambda dialect: sent(words(statement.of(dialect), dialect), filling), deadline=deadline)
        except FullError as error:
            if any(r.metric == "mysql_connections" for r in query.template.reads):
                return Result(error.reason, 1.0, "the database refuses further connections", kind="table")
            raise
        judged = verdict(query, series_of(samples, self._shown, scope), self._shown, scope, self.name)
        rows = tuple(_shown(answer.columns, row) for row in answer.rows)
        return result_of(statement, replace(answer, rows=rows), Sampled(samples, judged, scope, self._reader.name_of))

    def close(self) -> None:
        """Stop reading and close the connection."""
        self._sampler.close()
        self._database.close()

    def _question(self, query: Query) -> Statement:
        return statement_of(self.name, self.spec, query, (MARIADB,))


def _shown(columns: tuple[str, ...], row: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """A row with the values taken out of its statements."""
    return tuple(
        masked(cell) if isinstance(cell, str) and name.endswith("statement") else cell
        for name, cell in zip(columns, row, strict=True)
    )
