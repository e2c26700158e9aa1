"""Opens the database, brings its tables up to date, and says what is wrong when it cannot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from revelio.errors import StoreError

_WAIT_S = 10.0
"""How long a writer waits for another one."""


def open_engine(url: str) -> Engine:
    """An engine on an up-to-date database; ``StoreError`` when it cannot be opened or migrated.

    On SQLite (WAL) a commit under the execution option ``revelio_write="durable"`` is on disk when it returns; one under
    ``"quick"`` outlives the process, but perhaps not a power cut.
    """
    try:
        address = make_url(url)
        if address.get_backend_name() == "sqlite":
            if address.database and address.database != ":memory:":
                Path(address.database).parent.mkdir(parents=True, exist_ok=True)
            engine = create_engine(address, connect_args={"timeout": _WAIT_S})
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
        else:
            engine = create_engine(address, pool_pre_ping=True)
        migrate(engine)
    except (ArgumentError, CommandError, ImportError, OSError, SQLAlchemyError) as error:
        raise StoreError(
            f"the database {_masked(url)} cannot be opened: {reason(error)}; check the setting `database`"
        ) from error
    return engine


def migrate(engine: Engine) -> None:
    """Apply the migrations that the database lacks. Two processes that start together take turns."""
    with engine.execution_options(revelio_write="durable").begin() as connection:
        command.upgrade(_config(connection), "head")


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("revelio.store") / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # The driver's own implicit BEGIN leaves DDL outside of transactions; ours is sent by _begin_sqlite.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=10000"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A writer takes its lock at the start: a reader that turns writer half-way would fail at once instead of waiting.
    write = connection.get_execution_options().get("revelio_write")
    if write:
        connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if write == 'durable' else 'NORMAL'}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


@contextmanager
def as_store_error(doing: str) -> Iterator[None]:
    """Turn the database's own errors into ``StoreError``; ``doing`` completes "cannot ..."."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreError(f"cannot {doing}: {reason(error)}; is the disk full, or the database locked or gone?") from error


def reason(error: Exception) -> str:
    """The first line of the database's own words."""
    words = str(getattr(error, "orig", None) or error)
    return words.splitlines()[0] if words else type(error).__name__


def _masked(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return "named in the settings"
