"""Copies a whole store: into a backup file, back from it, and from one database to another.

A backup is an SQLite file with the tables as they were, whatever database it was made from.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from sqlalchemy import Connection, Engine, MetaData, Table, delete, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from revelio.errors import InvalidInputError, StoreError
from revelio.store.engine import NewerError, as_store_error, config, newer, open_engine, reason, revision

_BATCH = 100
"""Rows in memory at once: an answer can be a megabyte."""


def back_up(url: str, file: Path, *, replace: bool = False) -> dict[str, int]:
    """Write all rows of a database to ``file``, readable by its owner alone, and return their number by table.

    The database stays as it is, also where an older version wrote it, and may be in use. ``file`` appears whole or not at all.
    """
    if file.exists() and not replace:
        raise InvalidInputError(f"{file} exists already; name another file, or replace it with --replace")
    try:
        with tempfile.TemporaryDirectory(prefix=".backup-", dir=file.parent) as folder:  # so that the last step is a renaming
            part = Path(folder) / "backup.db"
            part.touch(0o600)
            with _opened(_existing(url), upgraded=False) as source, _opened(f"sqlite:///{part}", upgraded=False) as target:
                rows = _copy(source, target)
            part.replace(file)
    except OSError as error:
        raise InvalidInputError(f"{file} cannot be written: {error.strerror}") from error
    return rows


def restore(file: Path, url: str, *, replace: bool = False) -> dict[str, int]:
    """Fill a database with the rows of a backup of this or an older version, and return their number by table.

    All or nothing is written. ``InvalidInputError`` where the database holds rows already; with ``replace`` they are deleted.
    """
    with tempfile.TemporaryDirectory(prefix="revelio-restore-") as folder:
        copy = Path(folder) / "backup.db"  # upgraded there: the backup stays as it is, and may lie where nothing can be written
        try:
            for part in ("", "-wal"):  # the latter beside a database that is in use, with its latest rows
                if not part or Path(f"{file}{part}").exists():
                    shutil.copyfile(f"{file}{part}", f"{copy}{part}")
        except OSError as error:
            raise InvalidInputError(f"the backup {file} cannot be read: {error.strerror}") from error
        _check_backup(copy, file)
        return transfer(f"sqlite:///{copy}", url, replace=replace)


def transfer(url: str, to: str, *, replace: bool = False) -> dict[str, int]:
    """Copy all rows of one database into another, both upgraded to this version first, and return their number by table.

    All or nothing is written. ``InvalidInputError`` where the other holds rows already; with ``replace`` they are deleted.
    """
    with _opened(_existing(url)) as source, _opened(to) as target:
        if source.url == target.url:
            raise InvalidInputError("both addresses name the same database; nothing was copied")
        return _copy(source, target, replace=replace)


@contextmanager
def _opened(url: str, *, upgraded: bool = True) -> Iterator[Engine]:
    engine = open_engine(url, upgraded=upgraded)
    try:
        yield engine
    finally:
        engine.dispose()


def _existing(url: str) -> str:
    file = url.removeprefix("sqlite:///")
    if file != url and not Path(file).exists():
        raise StoreError(f"there is no database at {url}; check the setting `database`")
    return url


def _check_backup(copy: Path, file: Path) -> None:
    with _opened(f"sqlite:///{copy}", upgraded=False) as engine:
        try:
            with engine.connect() as connection:
                whole = connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
                known = revision(connection)
        except NewerError as error:
            raise newer(str(file), error) from error
        except SQLAlchemyError as error:
            raise StoreError(f"the backup {file} cannot be read: {reason(error)}") from error
    if not whole or not known:
        raise StoreError(f"{file} is {'no backup of Revelio' if whole else 'damaged'}; choose another backup")


def _copy(source: Engine, target: Engine, *, replace: bool = False) -> dict[str, int]:
    """All rows as they were at one moment, in one transaction, into a database that is empty or of the same revision."""
    with (
        as_store_error("copy the store"),
        source.connect().execution_options(isolation_level="SERIALIZABLE") as reader,
        target.execution_options(revelio_write="durable").begin() as writer,
    ):
        try:
            at = revision(reader)
        except NewerError as error:
            raise newer(str(source.url), error) from error
        command.upgrade(config(writer), at or "head")
        tables = MetaData()
        tables.reflect(reader)
        tables.create_all(writer)  # the first versions made some tables outside the migrations
        kept = [table for table in tables.sorted_tables if table.name != "alembic_version"]
        _make_room(writer, kept, target, replace=replace)
        rows = {table.name: _copy_table(reader, writer, table) for table in kept}
        if writer.dialect.name == "postgresql":
            _count_on(writer, kept)
    return rows


def _make_room(writer: Connection, tables: list[Table], target: Engine, *, replace: bool) -> None:
    for table in reversed(tables):
        if replace:
            writer.execute(delete(table))
        elif writer.execute(select(table).limit(1)).first():
            raise InvalidInputError(
                f"the database {target.url} holds {table.name} already; choose an empty one, or delete its rows with --replace"
            )


def _copy_table(reader: Connection, writer: Connection, table: Table) -> int:
    copied = 0
    for batch in reader.execution_options(yield_per=_BATCH).execute(select(table)).mappings().partitions():
        writer.execute(insert(table), [dict(row) for row in batch])
        copied += len(batch)
    return copied


def _count_on(writer: Connection, tables: list[Table]) -> None:
    """Have Postgres number new rows after those that were copied with their numbers."""
    for column in (table.c.id for table in tables if "id" in table.c):
        sequence = writer.scalar(select(func.pg_get_serial_sequence(column.table.name, "id")))
        if sequence:
            writer.execute(select(func.setval(sequence, select(func.coalesce(func.max(column), 0) + 1).scalar_subquery(), False)))
