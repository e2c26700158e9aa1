"""Opens the database, brings its tables up to date, and says what is wrong when it cannot."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from revelio.errors import StoreError
from revelio.extras import extras_for

_WAIT_S = 10.0
"""How long a writer waits for another one."""
_MIGRATION_LOCK = 0x5265_7665_6C69_6F
"""Postgres locks by number; this one is ours."""


@dataclass(frozen=True, slots=True)
class Database:
    """An open database, to read from (``engine``) and to write to: ``durable`` waits for the disk, ``quick`` does not."""

    engine: Engine
    durable: Engine
    quick: Engine

    @classmethod
    def open(cls, url: str) -> Self:
        """Open, make and bring up to date the database at a SQLAlchemy address; ``StoreError`` when that fails."""
        engine = open_engine(url)
        return cls(engine, *(engine.execution_options(revelio_write=how) for how in ("durable", "quick")))

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()


def open_engine(url: str) -> Engine:
    """An engine on an up-to-date database; ``StoreError`` when it cannot be opened or migrated, ``MissingExtraError``
    when its driver is not installed.

    A commit under the execution option ``revelio_write="durable"`` is on disk when it returns, on SQLite (WAL) as on
    Postgres; one under ``"quick"`` outlives the process, but perhaps not a power cut.
    """
    try:
        address = _address(url)
        if address.get_backend_name() == "sqlite":
            if address.database and address.database != ":memory:":
                Path(address.database).parent.mkdir(parents=True, exist_ok=True)
            engine = create_engine(address, connect_args={"timeout": _WAIT_S})
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        elif address.get_backend_name() == "postgresql":
            with extras_for("a database in Postgres"):
                engine = create_engine(address, pool_pre_ping=True, connect_args={"connect_timeout": int(_WAIT_S)})
            event.listen(engine, "begin", _begin_postgres)
        else:
            raise ArgumentError("Revelio keeps its store in SQLite (sqlite:///FILE) or Postgres (postgresql://USER@HOST/NAME)")
        migrate(engine)
    except (ArgumentError, CommandError, ImportError, OSError, SQLAlchemyError) as error:
        raise StoreError(f"the database {url} cannot be opened: {reason(error)}; check the setting `database`") from error
    return engine


def migrate(engine: Engine) -> None:
    """Apply the migrations that the database lacks. Two processes that start together take turns."""
    with engine.execution_options(revelio_write="durable").begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        command.upgrade(config(connection), "head")


def _address(url: str) -> URL:
    # The driver that comes with Revelio, so that the address need not name it.
    address = make_url(url.replace("postgres://", "postgresql://", 1) if url.startswith("postgres://") else url)
    return address.set(drivername="postgresql+psycopg") if address.drivername == "postgresql" else address


def config(connection: Connection) -> Config:
    """Alembic's configuration for the migrations, on a connection."""
    config = Config()
    config.set_main_option("script_location", str(files("revelio.store") / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # The driver's own implicit BEGIN leaves DDL outside of transactions; ours is sent by _begin_sqlite.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("busy_timeout=10000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        _patiently(cursor, f"PRAGMA {pragma}")
    cursor.close()


def _patiently(cursor: sqlite3.Cursor, statement: str) -> None:
    # While another process makes the file, or is the last to close it, SQLite refuses at once instead of waiting.
    until = time.monotonic() + _WAIT_S
    while True:
        try:
            cursor.execute(statement)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes its lock at the start: a reader that turns writer half-way would fail at once instead of waiting.
    write = connection.get_execution_options().get("revelio_write")
    if write:
        connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if write == 'durable' else 'NORMAL'}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _begin_postgres(connection: Connection) -> None:
    write = connection.get_execution_options().get("revelio_write")
    if write:
        connection.exec_driver_sql(f"SET LOCAL synchronous_commit = {'on' if write == 'durable' else 'off'}")


@contextmanager
def as_store_error(doing: str, *, leave: type[SQLAlchemyError] | None = None) -> Iterator[None]:
    """Turn the database's own errors into ``StoreError``, all but ``leave``; ``doing`` completes "cannot ..."."""
    try:
        yield
    except SQLAlchemyError as error:
        if leave is not None and isinstance(error, leave):
            raise
        raise StoreError(f"cannot {doing}: {reason(error)}; is the disk full, or the database locked or gone?") from error


def reason(error: Exception) -> str:
    """The first line of the database's own words."""
    words = str(getattr(error, "orig", None) or error)
    return words.splitlines()[0] if words else type(error).__name__
