"""The application's database, as a user with a login sees it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg import sql

from fault_injection.apps import App
from revelio.errors import FaultError
from testbed.stack import find_project

CLIENT = "psql"
"""What sessions of a person call themselves."""
_PATIENCE = "-c lock_timeout=10s -c statement_timeout=30s"
_MAKING = "-c lock_timeout=30s"
"""For what may take its time: an index of many rows on a busy machine."""
_UNSEEN = "-c pg_stat_statements.track=none"
"""For measurements: the database's statistics must not show them."""


def connect(app: App, options: str = _PATIENCE) -> psycopg.Connection[Any]:
    """A session of the application's own user; each statement is its own transaction. Raises ``psycopg.Error``."""
    return psycopg.connect(
        host="127.0.0.1",
        port=find_project(app.name).ports["postgres"],
        user=app.name,
        password=app.name,
        dbname=app.name,
        application_name=CLIENT,
        connect_timeout=5,
        options=options,
        autocommit=True,
    )


def ask(app: App, question: str, *values: object, rows: bool = True) -> list[tuple[Any, ...]]:
    """The rows that answer a question; ``FaultError`` when the database does not answer it."""
    with _refusals(app, question), connect(app, options=f"{_PATIENCE} {_UNSEEN}") as session:
        answer = session.execute(sql.SQL(question), values or None)
        return answer.fetchall() if rows else []


def carry_out(app: App, statement: str) -> None:
    """Have a statement carried out; ``FaultError`` when the database refuses it."""
    with _refusals(app, statement), connect(app, options=_MAKING) as session:
        session.execute(sql.SQL(statement))


def commit_seconds(app: App) -> float:
    """How long it takes the database to have a transaction on its disk; ``FaultError`` when it does not answer."""
    statement = "SELECT pg_logical_emit_message(true, 'note', '')"
    with _refusals(app, statement), connect(app, options=f"{_PATIENCE} {_UNSEEN}") as session:
        began = time.monotonic()
        session.execute(sql.SQL(statement))
        return time.monotonic() - began


def take_space(app: App) -> None:
    """Have the database write to its disk what the session's end takes away again; ``FaultError`` when it cannot."""
    ask(app, "CREATE TEMPORARY TABLE scratch AS SELECT generate_series(1, 5000) AS number", rows=False)


def hold(app: App, statement: str, wanted: Callable[[], bool]) -> None:
    """Leave a transaction open after a statement until not wanted; nothing of it stays."""
    with connect(app) as session:
        session.execute("BEGIN")
        session.execute(sql.SQL(statement))
        while wanted():
            time.sleep(0.25)
        session.execute("ROLLBACK")


def repeat(app: App, statement: str, every_s: float, wanted: Callable[[], bool]) -> None:
    """Run a statement every so many seconds until not wanted; what the database refuses is tried again next time."""
    while wanted():
        began = time.monotonic()
        with contextlib.suppress(psycopg.Error), connect(app) as session:
            session.execute(sql.SQL(statement))
        while wanted() and (left := began + every_s - time.monotonic()) > 0:
            time.sleep(min(0.25, left))


@contextlib.contextmanager
def _refusals(app: App, statement: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise FaultError(f"the database of {app.name} refuses {' '.join(statement.split())!r}: {error}") from error
