"""Opens the database, brings its tables up to date, and says what is wrong when it cannot."""

from __future__ import annotations

import os
import shutil
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
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from pydantic import ValidationError
from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from revelio import __version__
from revelio.errors import StoreError
from revelio.errors.redaction import checked_address, redact_address, remember_address
from revelio.store.tables import Base
from revelio.support.extras import extras_for
from revelio.support.private_file import create_private

_WAIT_S = 10.0
"""How long a writer waits for another one."""
_LEAST_FREE = 1_000_000
"""Bytes on the disk of an SQLite file below which it counts as full: a checkpoint needs some."""
_MIGRATION_LOCK = 0x5265_7665_6C69_6F
"""Postgres locks by number; this one is ours."""


class NewerError(Exception):
    """The database has a migration that this version does not know."""


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


def open_engine(url: str, *, upgraded: bool = True) -> Engine:
    """An engine on an up-to-date database; ``StoreError`` when it cannot be opened or migrated, ``MissingExtraError``
    when its driver is not installed. Unless ``upgraded``, the tables stay as they are.

    A commit under the execution option ``revelio_write="durable"`` is on disk when it returns, on SQLite (WAL) as on
    Postgres; one under ``"quick"`` outlives the process, but perhaps not a power cut.
    """
    remember_address(url)
    with _opening("named in the settings"):  # what does not parse may hold a password anywhere
        address = _address(url)
    with _opening(redact_address(url)):
        engine = _engine(address)
        if upgraded:
            migrate(engine)
    return engine


def upgrade(url: str) -> tuple[str | None, str]:
    """Upgrade a database, and return its revision before (None: it was empty) and after; errors as of ``open_engine``."""
    engine = open_engine(url, upgraded=False)
    try:
        with _opening(redact_address(url)):
            return migrate(engine)
    finally:
        engine.dispose()


@contextmanager
def _opening(shown: str) -> Iterator[None]:
    try:
        yield
    except NewerError as error:
        raise newer(shown, error) from error
    except UnicodeDecodeError as error:
        raise StoreError(f"the database {shown} is damaged: it holds text that is none; restore it from a backup") from error
    except (ArgumentError, CommandError, ImportError, OSError, SQLAlchemyError) as error:
        raise StoreError(f"the database {shown} cannot be opened: {reason(error)}; check the setting `database`") from error


def _engine(address: URL) -> Engine:
    if address.get_backend_name() == "sqlite":
        if address.database and address.database != ":memory:":
            Path(address.database).parent.mkdir(parents=True, exist_ok=True)
            if not address.database.startswith("file:"):
                create_private(Path(address.database))
        engine = create_engine(address, connect_args={"timeout": _WAIT_S})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if address.get_backend_name() == "postgresql":
        with extras_for("a database in Postgres"):
            engine = create_engine(address, pool_pre_ping=True, connect_args={"connect_timeout": int(_WAIT_S)})
        event.listen(engine, "begin", _begin_postgres)
        return engine
    raise ArgumentError("Revelio keeps its store in SQLite (sqlite:///FILE) or Postgres (postgresql://USER@HOST/NAME)")


def migrate(engine: Engine) -> tuple[str | None, str]:
    """Apply the migrations that the database lacks, and return its revision before (None: it was empty) and after.

    ``NewerError`` where it has others. Two processes take turns.
    """
    with engine.execution_options(revelio_write="durable").begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        before = revision(connection)
        command.upgrade(config(connection), "head")
        return before, str(revision(connection))


def revision(connection: Connection) -> str | None:
    """The last migration that was applied to a database; None where it is empty, ``NewerError`` where it is unknown here."""
    scripts = ScriptDirectory.from_config(config(connection))
    there = set(MigrationContext.configure(connection).get_current_heads())
    unknown = there - {script.revision for script in scripts.walk_revisions()}
    if unknown:
        raise NewerError(f"revision {min(unknown)}, and Revelio {__version__} knows those up to {scripts.get_current_head()}")
    return max(there, default=None)


def newer(database: str, error: NewerError) -> StoreError:
    """What to tell a person about a database that a newer version wrote."""
    return StoreError(
        f"the database {database} was written by a newer version of Revelio ({error}); "
        "upgrade Revelio, or restore a backup made before that upgrade: revelio store restore FILE"
    )


def _address(url: str) -> URL:
    try:
        checked_address(url)
    except ValueError as error:
        raise ArgumentError(str(error)) from None
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
    except (UnicodeDecodeError, ValidationError) as error:
        raise StoreError(f"cannot {doing}: the database is damaged ({type(error).__name__}); restore it from a backup") from error


def reason(error: Exception) -> str:
    """The first line of the database's own words."""
    words = str(getattr(error, "orig", None) or error)
    return words.splitlines()[0] if words else type(error).__name__


def check(engine: Engine) -> None:
    """``StoreError`` where the database does not answer, lacks a table, or its disk has no room left."""
    with as_store_error("read the database"), engine.connect() as connection:
        missing = sorted(Base.metadata.tables.keys() - set(inspect(connection).get_table_names()))
        for table in () if missing else Base.metadata.sorted_tables:
            connection.execute(select(table).limit(1)).first()
    if missing:
        raise StoreError(f"the database lacks the table {missing[0]}; restore it from a backup")
    if engine.dialect.name == "sqlite" and engine.url.database not in (None, "", ":memory:"):
        _check_disk(Path(str(engine.url.database)))


def _check_disk(file: Path) -> None:
    try:
        free = shutil.disk_usage(file.parent).free
    except OSError as error:
        raise StoreError(f"the folder of the database {file} is gone: {error}") from error
    if free < _LEAST_FREE:
        raise StoreError(f"the disk of the database {file} is full: {free / 1e3:,.0f} kB are free; make room on it")
    if not os.access(file, os.W_OK):
        raise StoreError(f"the database {file} cannot be written; is it read-only, or removed?")
