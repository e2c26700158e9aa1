"""Faults of the database: its locks, indexes, sessions and disk."""

from __future__ import annotations

import re
import time
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.kinds.disk_writes import slow_writes
from fault_injection.kinds.kit_version import KitVersion
from fault_injection.mechanisms import database
from fault_injection.mechanisms.probe import must_run
from fault_injection.mechanisms.service_metrics import metrics
from fault_injection.spec import Change, Effect, Fault, FaultKind, Step
from fault_injection.steps import sql_step
from revelio.errors import FaultError

POSTGRES = "postgres"
SAMPLE_S = 2.0
LEAST_ROWS = 20_000


class OnDatabase(FaultKind):
    """What happens in the database, whatever its place is called."""

    category = "database"

    def stands_on(self, app: App, fault: Fault) -> str:
        """The database's container."""
        return POSTGRES


class LockHeld(OnDatabase):
    """An open transaction holds a lock on a table."""

    name = "lock_held"
    mechanism = "database_session"
    explanation = "A transaction was left open that holds a lock on a table, so that every other user of the table waits."
    strengths: ClassVar = {
        "everybody": {"mode": "AccessExclusiveLock"},
        "writers": {"mode": "ShareRowExclusiveLock"},
    }
    settle_s = 16.0
    STATEMENTS: ClassVar = {
        "everybody": (
            "LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE",
            "ALTER TABLE {table} ADD COLUMN note text",
            "ALTER TABLE {table} ADD COLUMN imported_at timestamptz",
        ),
        "writers": ("LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE",),
    }

    def places(self, app: App) -> tuple[str, ...]:
        """Tables that users' visits read and write."""
        return app.tables

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """A background process holds the session."""
        forms = self.STATEMENTS[fault.strength]
        statement = forms[fault.variant % len(forms)].format(table=fault.place)
        container = engine.container_id(POSTGRES)
        start = Step("start_background", POSTGRES, container, (("act", "hold"), ("statement", statement)))
        return Change(do=(start,), undo=(Step("stop_background", POSTGRES, container),), parameters=(("statement", statement),))

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The lock is there, and sessions of the application wait for the table."""
        held, waiting = self._locks(app, fault)
        return Effect(held > 0 and waiting > 0, f"{held} session holds the lock on {fault.place}, {waiting} wait for the table")

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """No session holds it any more."""
        held, waiting = self._locks(app, fault)
        return Effect(not held, f"{held} sessions hold the lock on {fault.place}, {waiting} wait for the table")

    def _locks(self, app: App, fault: Fault) -> tuple[int, int]:
        rows = database.ask(
            app,
            "SELECT count(*) FILTER (WHERE granted AND mode = %s AND application_name = %s), count(*) FILTER (WHERE NOT granted)"
            " FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE relation = to_regclass(%s)",
            self.strengths[fault.strength]["mode"],
            database.CLIENT,
            fault.place,
        )
        return int(rows[0][0]), int(rows[0][1])


class DroppedIndex(OnDatabase):
    """An index is gone."""

    name = "dropped_index"
    mechanism = "database_session"
    explanation = "An index of the table was dropped, so that the queries that it served read the whole table."
    strengths: ClassVar = {"all": {}, "one": {}}
    settle_s = 16.0

    def places(self, app: App) -> tuple[str, ...]:
        """Tables that are large enough for the loss of an index to be felt.

        Some of the indexes keep rows unique: without them the statements that rely on that are refused, so no row is
        written that would prevent their return.
        """
        return tuple(table for table, _ in app.indexes)

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Drop it; make it again exactly as the database describes it."""
        names = self._names(app, fault)
        made = self._found(app, fault)
        missing = [name for name in names if name not in made]
        if missing:
            raise FaultError(f"{fault.place} of {app.name} has no index {', '.join(missing)}; undo what was done to it first")
        return Change(
            do=tuple(sql_step(_dropping(fault.place, name, *made[name])) for name in names),
            undo=tuple(
                sql_step(text)
                for text in (*(_making(fault.place, name, *made[name]) for name in names), f"ANALYZE {fault.place}")
            ),
            parameters=(("indexes", ", ".join(names)),),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The index is not there, and the table is read from one end to the other, or statements that rely on it are refused."""
        there = self._found(app, fault)
        (rows, refused), began = self._reads(app, fault), time.monotonic()
        time.sleep(SAMPLE_S)
        later, refused_later = self._reads(app, fault)
        rows, refused, seconds = later - rows, refused_later - refused, time.monotonic() - began
        figures = (
            f"{rows} rows of {fault.place} read by sequential scans and {refused} transactions rolled back in {seconds:.0f} s"
        )
        return Effect(not there and (rows >= LEAST_ROWS or refused > 0), f"{len(there)} of the indexes are there; {figures}")

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Every index is back."""
        there = self._found(app, fault)
        return Effect(len(there) == len(self._names(app, fault)), f"indexes of {fault.place}: {', '.join(there)}")

    def _names(self, app: App, fault: Fault) -> tuple[str, ...]:
        names = app.indexes_of(fault.place)
        return names if fault.strength == "all" else names[:1]

    def _found(self, app: App, fault: Fault) -> dict[str, tuple[str, str]]:
        """Those that are there: the statement that makes each, and the constraint that it stands for, if any."""
        rows = database.ask(
            app,
            "SELECT c.relname, pg_get_indexdef(c.oid), coalesce(pg_get_constraintdef(k.oid), '') FROM pg_class AS c"
            " LEFT JOIN pg_constraint AS k ON k.conindid = c.oid AND k.contype IN ('p', 'u')"
            " WHERE c.relkind = 'i' AND c.relname = ANY(%s) ORDER BY 1",
            list(self._names(app, fault)),
        )
        return {str(name): (str(index), str(constraint)) for name, index, constraint in rows}

    def _reads(self, app: App, fault: Fault) -> tuple[int, int]:
        """Rows of the table read by sequential scans, and transactions rolled back, since statistics began."""
        (found,) = database.ask(
            app,
            "SELECT seq_tup_read, xact_rollback FROM pg_stat_user_tables, pg_stat_database"
            " WHERE relname = %s AND datname = current_database()",
            fault.place,
        )
        return int(found[0]), int(found[1])


class ConnectionLeak(KitVersion):
    """Sessions are taken and not given back."""

    name = "connection_leak"
    category = "database"
    explanation = "A new version of the service takes database sessions and never gives them back, until its pool has none left."
    strengths: ClassVar = {"fast": {"every": 2}, "slow": {"every": 3}}
    file = "/app/kit/database.py"
    function = "Database.connection"
    statements = """
    self._asked = getattr(self, "_asked", 0) + 1
    if self._pool is not None and self._asked % {every} == 0:
        reader = await self._pool.acquire(timeout=2)
    """

    def places(self, app: App) -> tuple[str, ...]:
        """Every service with a pool."""
        return app.users_of(POSTGRES)

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The pool has none left, now and a moment later: the last one may be on loan."""
        try:
            first = metrics(app, fault.place, engine)
            time.sleep(SAMPLE_S)
            page = metrics(app, fault.place, engine)
        except FaultError as error:
            return Effect(False, str(error))
        used, most = min(_used(first), _used(page)), _figure(page, "max", "")
        return Effect(0 < most <= used, f"{used:.0f} of {most:.0f} sessions of the pool of {fault.place} in use")


class UnpooledSessions(KitVersion):
    """Sessions are opened beside the pool, and stay open."""

    name = "unpooled_sessions"
    category = "database"
    explanation = (
        "A new version of the service opens database sessions beside its pool and closes none, until the database has no more."
    )
    strengths: ClassVar = {"fast": {"sessions": 4}, "slow": {"sessions": 2}}
    file = "/app/kit/database.py"
    function = "Database.connection"
    statements = """
    for _ in range({sessions}):
        session = await asyncpg.connect(self._url, timeout=4, server_settings={{"application_name": self._service}})
        self._opened = [*getattr(self, "_opened", []), session]
    yield session
    return
    """
    FULL = 0.9
    """From this share of the sessions that the database allows on, a client is refused one now and then."""

    def places(self, app: App) -> tuple[str, ...]:
        """Every service with a pool."""
        return app.users_of(POSTGRES)

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The database has hardly a session left to give, and the service holds most of them."""
        try:
            ours, every, most = self._sessions(app, fault)
        except FaultError as error:
            return Effect("too many" in str(error) or "remaining connection slots" in str(error), str(error))
        return Effect(
            every >= self.FULL * most and 2 * ours >= every, f"{every} of {most} sessions in use, {ours} by {fault.place}"
        )

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """There is room again."""
        try:
            ours, every, most = self._sessions(app, fault)
        except FaultError as error:
            return Effect(False, str(error))
        return Effect(every < self.FULL * most, f"{every} of {most} sessions in use, {ours} by {fault.place}")

    def _sessions(self, app: App, fault: Fault) -> tuple[int, int, int]:
        """The service's, everybody's, and how many the database allows."""
        rows = database.ask(
            app,
            "SELECT count(*) FILTER (WHERE application_name = %s), count(*), current_setting('max_connections')::int"
            " FROM pg_stat_activity WHERE backend_type = 'client backend'",
            fault.place,
        )
        return int(rows[0][0]), int(rows[0][1]), int(rows[0][2])


class SlowDiskOnDb(OnDatabase):
    """The database's disk takes few writes a second."""

    name = "slow_disk_on_db"
    mechanism = "store_disk"
    explanation = "The disk takes only a few of the database's writes a second, so that every commit waits for it."
    strengths: ClassVar = {"hard": {"writes": 4, "least_s": 0.4}, "moderate": {"writes": 6, "least_s": 0.3}}
    settle_s = 16.0
    FOLDER = "/var/lib/postgresql/data"

    def places(self, app: App) -> tuple[str, ...]:
        """The database."""
        return (POSTGRES,)

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """A limit on its control group's writes to that disk."""
        must_run(fault.place, engine)
        writes = int(self.strengths[fault.strength]["writes"])
        do, undo = slow_writes(engine, POSTGRES, self.FOLDER, writes)
        return Change(do=(do,), undo=(undo,), parameters=(("writes_per_second", writes),))

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """How long a commit takes."""
        seconds = database.commit_seconds(app)
        return Effect(seconds >= float(self.strengths[fault.strength]["least_s"]), f"a commit took {seconds:.2f} s")

    def cleared(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """A commit is quick again."""
        seconds = database.commit_seconds(app)
        return Effect(seconds < 0.2, f"a commit took {seconds:.2f} s")


def _dropping(table: str, name: str, index: str, constraint: str) -> str:
    return f"ALTER TABLE {table} DROP CONSTRAINT {name}" if constraint else f"DROP INDEX {name}"


def _making(table: str, name: str, index: str, constraint: str) -> str:
    """The statement that creates it where it is missing."""
    if not constraint:
        return index.replace("INDEX", "INDEX IF NOT EXISTS", 1)
    return (
        f"DO $$ BEGIN IF to_regclass('{name}') IS NULL THEN"
        f" ALTER TABLE {table} ADD CONSTRAINT {name} {constraint}; END IF; END $$"
    )


def _used(page: str) -> float:
    return _figure(page, "count", 'state="used"')


def _figure(page: str, what: str, label: str) -> float:
    found = re.findall(rf"^db_client_connection_{what}\{{(.*)\}} (\S+)$", page, re.MULTILINE)
    return sum(float(value) for labels, value in found if label in labels)
