"""Notes are read on as they are written, and reports follow from notes alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fault_injection.campaigns.setup import CorpusReporters, NotesFile
from revelio.errors import InvalidInputError
from revelio.systems.incidents.dataset import TEST_WRITERS, TRAIN_WRITERS
from revelio.systems.incidents.exchange import Note
from revelio.types import Window

WINDOW = Window(100.0, 116.0)


def line(at: float, outcome: str = "ok", seconds: float = 0.1) -> str:
    return json.dumps({"at": at, "feature": "home", "outcome": outcome, "seconds": seconds, "status": 200, "detail": ""}) + "\n"


def visits(outcome: str, seconds: float = 0.1) -> tuple[Note, ...]:
    before = [Note(82.0 + i, f, "ok", 0.1, 200) for i, f in enumerate(("home", "search", "checkout", "orders") * 4)]
    now = [Note(101.0 + 3 * i, f, "ok", 0.1, 200) for i in range(5) for f in ("home", "search", "orders")]
    return (*before, *now, *(Note(101.0 + 3 * i, "checkout", outcome, seconds, 504) for i in range(5)))


def test_notes_that_come_later_are_read_and_half_a_line_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    users = NotesFile(path)
    assert users.notes(0, 1e9) == ()
    path.write_text(line(10.0) + line(20.0)[:15])
    assert [n.at for n in users.notes(0, 1e9)] == [10.0]
    path.write_text(line(10.0) + line(20.0))
    assert [n.at for n in users.notes(0, 1e9)] == [10.0, 20.0]


def test_a_visit_belongs_to_the_moment_at_which_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(line(10.0, "timeout", 10.0))
    assert NotesFile(path).notes(5.0, 15.0) == ()
    assert len(NotesFile(path).notes(15.0, 25.0)) == 1


def test_a_file_that_was_begun_anew_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text(line(10.0) + line(11.0))
    users = NotesFile(path)
    assert len(users.notes(0, 1e9)) == 2
    path.write_text(line(30.0))
    assert [n.at for n in users.notes(0, 1e9)] == [30.0]


def test_a_complaint_names_the_feature_that_suffered_and_quiet_times_have_none() -> None:
    reporters = CorpusReporters("shop")
    assert reporters.complaints(visits("timeout", 10.0), WINDOW)[0] == "shop/checkout/timeout"
    assert reporters.complaints(visits("ok"), WINDOW) == ()


def test_training_and_test_runs_have_different_writers() -> None:
    reporters = CorpusReporters("shop")
    seen = visits("timeout", 10.0)
    for_training = reporters.choose(seen, WINDOW, "train", "a")
    for_tests = reporters.choose(seen, WINDOW, "repeat", "a")
    assert len(for_training) >= 3
    assert {r.writer for r in for_training} <= set(TRAIN_WRITERS)
    assert for_tests
    assert {r.writer for r in for_tests} <= TEST_WRITERS
    assert all(r.cell.startswith("shop/checkout/timeout") for r in for_training + for_tests)
    assert "{" not in "".join(r.text for r in for_training + for_tests)


def test_a_quiet_time_is_told_by_people_who_write_about_something_else() -> None:
    cells = {r.cell.split("#")[0] for r in CorpusReporters("shop").choose(visits("ok"), WINDOW, "no_fault", "a")}
    assert cells == {"shop/_site/unrelated"}


def test_a_corpus_that_lacks_a_writer_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no reports by w6"):
        CorpusReporters("shop", tmp_path, ("w6",)).choose(visits("ok"), WINDOW, "repeat", "a")
