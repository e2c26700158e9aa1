"""``revelio users``, ``revelio tokens`` and ``revelio store``."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from revelio.store import Store
from revelio.systems.incidents.exchange import read_records
from tests.cli.made import CommandLine
from tests.store.made import ANSWER

PASSWORD = "correct horse battery"


@pytest.fixture
def place(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("REVELIO_DATABASE", "sqlite:///revelio.db")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    return revelio


def test_somebody_is_added_changed_and_removed(place: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    added = place("users", "add", "robin", "--role", "admin", "--password-stdin", "--json")
    assert added.code == 0, added.err
    assert (added.json["name"], added.json["role"]) == ("robin", "admin")
    assert "robin" in place("users", "list").out
    refused = place("users", "role", "robin", "viewer")
    assert (refused.code, "last admin" in refused.err) == (1, True)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    place("users", "add", "kim", "--password-stdin")
    assert place("users", "role", "kim", "admin", "--json").json["role"] == "admin"
    assert place("users", "remove", "robin").code == 0
    assert [u["name"] for u in place("users", "list", "--json").json] == ["kim"]
    store = Store("sqlite:///revelio.db")
    assert "command line" in store.audit.list()[0].actor
    store.close()


def test_a_short_password_and_none_at_all_are_refused(place: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    ran = place("users", "add", "robin", "--password-stdin")
    assert (ran.code, "12" in ran.err) == (1, True)
    ran = place("users", "add", "robin")
    assert (ran.code, "--password-stdin" in ran.err) == (2, True)


def test_a_token_is_made_listed_and_revoked(place: CommandLine) -> None:
    place("users", "add", "robin", "--role", "responder", "--password-stdin")
    made = place("tokens", "create", "robin", "relay", "--days", 90)
    assert made.out.strip().startswith("rvl_")
    assert "rvl_" not in made.err
    (listed,) = place("tokens", "list", "--json").json
    assert (listed["name"], listed["role"]) == ("relay", "responder")
    too_much = place("tokens", "create", "robin", "relay", "--role", "admin")
    assert (too_much.code, "cannot be admin" in too_much.err) == (1, True)
    assert place("tokens", "revoke", listed["id"]).code == 0
    assert place("tokens", "list", "--json").json == []
    assert place("tokens", "revoke", listed["id"]).code == 1


def test_answers_are_exported_and_forgotten(place: CommandLine, tmp_path: Path) -> None:
    store = Store("sqlite:///revelio.db")
    store.save(ANSWER)
    store.add_feedback(store.save(ANSWER).id, None, "helpful")
    store.close()
    ran = place("store", "export", "answers.jsonl.xz", "--json")
    assert ran.json == {"file": "answers.jsonl.xz", "incidents": 2}
    assert len(list(read_records(tmp_path / "answers.jsonl.xz"))) == 2
    assert place("store", "prune", "--older-than", "0d", "--dry-run", "--json").json["answers"] == 2
    assert "deleted 1 answers" in place("store", "prune", "--older-than", "0h", "--keep-feedback").err
    assert place("store", "audit", "--json").code == 0
    wrong = place("store", "prune", "--older-than", "soon")
    assert (wrong.code, "90d" in wrong.err) == (2, True)


def test_a_store_is_backed_up_restored_upgraded_and_moved(place: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = place("store", "backup", "backup.db")
    assert (missing.code, "no database at sqlite:///revelio.db" in missing.err) == (1, True)
    fresh = place("store", "migrate", "--json").json
    assert (fresh["before"], fresh["after"]) == (None, place("store", "migrate", "--json").json["before"])
    place("users", "add", "robin", "--role", "admin", "--password-stdin")
    assert "up to date" in place("store", "migrate").err
    assert place("store", "backup", "backup.db", "--json").json["rows"]["users"] == 1
    place("users", "role", "robin", "admin")
    assert "--replace" in place("store", "restore", "backup.db").err
    assert place("store", "restore", "backup.db", "--replace").code == 0
    moved = place("store", "migrate", "--to", "sqlite:///moved.db")
    assert (moved.code, "REVELIO_DATABASE" in moved.err) == (0, True)
    monkeypatch.setenv("REVELIO_DATABASE", "sqlite:///moved.db")
    assert [u["name"] for u in place("users", "list", "--json").json] == ["robin"]
    assert place("store", "migrate", "--replace").code == 2
