"""Backups of every version can be restored, into either kind of database, and a failed copy changes nothing."""

from __future__ import annotations

import lzma
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text

from revelio.errors import InvalidInputError, StoreError
from revelio.store import Actor, Store
from revelio.store.engine import open_engine
from revelio.store.transfer import back_up, restore, transfer
from tests.store.made import ANSWER

REVISIONS = ("0001", "0003", "0004")
TOKENS = {"0003": "rvl_Hclk_yqfKp22MRSZPXjGo66r7eBHO4p_82APl3gMCmA", "0004": "rvl_VsOQhend57T71JhoKvgJthtF9T9a2T_g0sT0DOOUUGc"}
"""What version 0.1 gave out when these databases were made."""


def database_of_0_1(revision: str, folder: Path) -> Path:
    """A database that version 0.1 wrote: one answer with a result and a verdict; a user with a token from 0003 on."""
    packed = Path(__file__).parent / "databases" / f"0.1-revision-{revision}.db.xz"
    file = folder / "revelio.db"
    file.write_bytes(lzma.decompress(packed.read_bytes()))
    return file


def check_what_0_1_kept(url: str, revision: str) -> None:
    store = Store(url)
    try:
        (entry,) = store.history()
        answer = store.load(entry.id)
        assert (entry.report, entry.verdict) == ("checkout takes ages since lunch", "found")
        assert answer.feedback[0].note == "it was the disk"
        assert any(query.result for query in answer.recommendation.queries)
        assert answer.recommendation.incident.evidence.series
        if revision in TOKENS:
            person = store.tokens.find(TOKENS[revision])
            assert person
            assert (person.name, person.role) == ("robin", "responder")
    finally:
        store.close()


@pytest.fixture
def filled(tmp_path: Path) -> str:
    """The address of a store with one judged answer and one user."""
    url = f"sqlite:///{tmp_path}/filled.db"
    store = Store(url)
    saved = store.save(ANSWER)
    store.add_feedback(saved.id, None, "helpful", by=Actor("robin"))
    store.accounts.add("robin", "admin", "correct horse battery", by=Actor(""))
    store.close()
    return url


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_database_of_0_1_opens_with_all_that_it_kept(revision: str, tmp_path: Path) -> None:
    check_what_0_1_kept(f"sqlite:///{database_of_0_1(revision, tmp_path)}", revision)


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_backup_of_0_1_leaves_it_as_it_is_and_is_restored(revision: str, tmp_path: Path, url: str) -> None:
    old, backup = database_of_0_1(revision, tmp_path), tmp_path / "backup.db"
    assert back_up(f"sqlite:///{old}", backup)["recommendations"] == 1
    for file in (old, backup):
        with sqlite3.connect(file) as connection:
            assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (revision,)
    assert backup.stat().st_mode & 0o777 == 0o600
    restore(backup, url)
    check_what_0_1_kept(url, revision)


def test_rows_added_after_a_copy_get_numbers_of_their_own(filled: str, url: str) -> None:
    transfer(filled, url)
    store = Store(url)
    store.add_feedback(store.history()[0].id, None, "found")
    assert len(store.load(store.history()[0].id).feedback) == 2
    store.accounts.add("kim", "viewer", "correct horse battery", by=Actor(""))
    store.close()


def test_a_copy_comes_back_as_it_was(filled: str, url: str, tmp_path: Path) -> None:
    before = transfer(filled, url)
    assert back_up(url, tmp_path / "copy.db") == before
    assert transfer(f"sqlite:///{tmp_path}/copy.db", f"sqlite:///{tmp_path}/last.db") == before
    one, other = Store(filled), Store(f"sqlite:///{tmp_path}/last.db")
    assert one.load(one.history()[0].id) == other.load(other.history()[0].id)
    one.close()
    other.close()


def test_a_database_with_rows_is_replaced_only_on_demand(filled: str, url: str) -> None:
    transfer(filled, url)
    with pytest.raises(InvalidInputError, match=r"holds .* already; .* --replace"):
        transfer(filled, url)
    assert transfer(filled, url, replace=True)["recommendations"] == 1


def test_a_backup_can_be_made_while_the_store_is_in_use(filled: str, tmp_path: Path) -> None:
    store = Store(filled)
    with store.database.durable.begin() as connection:
        connection.execute(text("DELETE FROM feedback"))
        assert back_up(filled, tmp_path / "backup.db")["feedback"] == 1
    store.close()


def test_a_newer_backup_asks_for_a_newer_revelio(filled: str, url: str, tmp_path: Path) -> None:
    back_up(filled, tmp_path / "backup.db")
    with sqlite3.connect(tmp_path / "backup.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0999'")
    with pytest.raises(StoreError, match=r"newer version of Revelio .*revision 0999.* knows those up to"):
        restore(tmp_path / "backup.db", url)
    with pytest.raises(StoreError, match="newer version of Revelio"):
        back_up(f"sqlite:///{tmp_path}/backup.db", tmp_path / "second.db")
    assert not (tmp_path / "second.db").exists()


@pytest.mark.parametrize("content", [b"", b"no database at all", b"SQLite format 3\x00" + b"\xff" * 5000])
def test_what_is_no_backup_is_refused_and_changes_nothing(content: bytes, filled: str, tmp_path: Path) -> None:
    (tmp_path / "backup.db").write_bytes(content)
    with pytest.raises(StoreError, match=r"no backup|damaged|cannot be"):
        restore(tmp_path / "backup.db", filled, replace=True)
    assert back_up(filled, tmp_path / "good.db")["recommendations"] == 1


def test_a_backup_that_breaks_off_leaves_no_file(filled: str, tmp_path: Path) -> None:
    engine = open_engine(filled)
    with engine.execution_options(revelio_write="durable").begin() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('0001')"))
        connection.execute(text("CREATE TABLE odd (a TEXT REFERENCES gone (x))"))
    engine.dispose()
    before = set(tmp_path.iterdir())
    with pytest.raises(StoreError):
        back_up(filled, tmp_path / "backup.db")
    assert set(tmp_path.iterdir()) == before


def test_missing_files_are_named(filled: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no database at"):
        back_up(f"sqlite:///{tmp_path}/none.db", tmp_path / "backup.db")
    with pytest.raises(InvalidInputError, match=r"none\.db cannot be read"):
        restore(tmp_path / "none.db", filled, replace=True)
    with pytest.raises(InvalidInputError, match="same database"):
        transfer(filled, filled, replace=True)
    with pytest.raises(InvalidInputError, match="cannot be written"):
        back_up(filled, tmp_path / "no" / "folder" / "backup.db")
    back_up(filled, tmp_path / "backup.db")
    with pytest.raises(InvalidInputError, match="--replace"):
        back_up(filled, tmp_path / "backup.db")
