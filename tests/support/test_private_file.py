"""Files that may hold secrets are their owner's alone."""

from __future__ import annotations

from pathlib import Path

from revelio.store import Store
from revelio.support.private_file import create_private, private


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_file_is_its_owners_alone_also_where_it_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("before", encoding="utf-8")
    path.chmod(0o644)
    with open(path, "w", encoding="utf-8", opener=private) as file:
        file.write("after")
    assert (mode(path), path.read_text(encoding="utf-8")) == (0o600, "after")


def test_a_file_that_is_there_keeps_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("before", encoding="utf-8")
    create_private(path)
    assert path.read_text(encoding="utf-8") == "before"


def test_a_new_store_is_its_owners_alone(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/revelio.db")
    try:
        assert {mode(path) for path in tmp_path.iterdir()} == {0o600}
    finally:
        store.close()
