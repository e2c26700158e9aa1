"""A database that is newer, damaged, incomplete or on a full disk is a clear sentence, and /readyz tells it."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from revelio.errors import StoreError
from revelio.store import Store
from revelio.store.tables import Base


def opened(file: Path) -> Store:
    return Store(f"sqlite:///{file}")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database of this version."""
    opened(tmp_path / "kept.db").close()
    return tmp_path / "kept.db"


def change(file: Path, *statements: str) -> None:
    with sqlite3.connect(file) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_a_newer_database_asks_for_a_newer_revelio(file: Path) -> None:
    change(file, "UPDATE alembic_version SET version_num = '0999'")
    with pytest.raises(StoreError, match=r"written by a newer version of Revelio \(revision 0999, .*\); upgrade"):
        opened(file)


@pytest.mark.parametrize("at", [0, 20, 100, 1000, 5000])
def test_a_damaged_database_is_a_clear_sentence(file: Path, at: int) -> None:
    whole = bytearray(file.read_bytes())
    whole[at : at + 400] = b"\xff\xfe\x00\xc3" * 100
    file.write_bytes(whole)
    try:
        store = opened(file)
    except StoreError as error:
        assert "cannot be opened" in str(error) or "damaged" in str(error)
        return
    try:
        store.ping()
        store.history()
    except StoreError as error:
        assert str(error)
    finally:
        store.close()


def test_text_that_is_none_is_damage(file: Path) -> None:
    change(file, "UPDATE alembic_version SET version_num = CAST(x'fffe' AS TEXT)")
    with pytest.raises(StoreError, match=r"damaged|cannot be opened"):
        opened(file)


@pytest.mark.parametrize("table", sorted(Base.metadata.tables))
def test_a_missing_table_is_named(file: Path, table: str) -> None:
    store = opened(file)
    change(file, "PRAGMA foreign_keys=OFF", f"DROP TABLE {table}")
    with pytest.raises(StoreError, match=f"lacks the table {table}"):
        store.ping()
    store.close()


def test_a_full_disk_is_told_and_room_made_on_it_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(file)
    store.ping()
    with monkeypatch.context() as full:
        full.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=12_000))
        with pytest.raises(StoreError, match="is full: 12 kB are free; make room"):
            store.ping()
    store.ping()
    store.close()
