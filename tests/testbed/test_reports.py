"""Reports are chosen by what was seen, by the writers asked for, and repeatably."""

from __future__ import annotations

from pathlib import Path

import pytest

from testbed.errors import CorpusError
from testbed.users.notes import Visit, append, read
from testbed.users.reports import choose_reports

SEEN = [Visit(1_700_000_000.0, "checkout", "error", 7.2, 503), Visit(1_700_000_003.0, "home", "ok", 0.1, 200)]


def test_texts_are_of_the_cells_and_writers_asked_for() -> None:
    chosen = choose_reports(("shop/checkout/error",), SEEN, ("w6", "w13"), "seed", 4, 1_700_000_010.0)
    assert {c.writer for c in chosen} == {"w6", "w13"}
    assert {c.cell for c in chosen} == {"shop/checkout/error"}


def test_every_figure_is_filled_in_with_what_was_seen() -> None:
    texts = [
        c.text for s in range(30) for c in choose_reports(("shop/checkout/error",), SEEN, ("w1", "w6", "w10"), str(s), 3, 0.0)
    ]
    assert not any("{" in t for t in texts)
    assert any("503" in t for t in texts)


def test_articles_are_those_that_the_users_were_after() -> None:
    seen = [
        *SEEN,
        Visit(1_700_000_004.0, "product", "ok", 0.1, 200, "cork mat"),
        Visit(1.0, "home", "error", 0.1, None, "ConnectError"),
    ]
    texts = [c.text for s in range(30) for c in choose_reports(("shop/product/timeout",), seen, ("w1",), str(s), 1, 0.0)]
    assert all("cork mat" in t for t in texts)


def test_nobody_says_that_an_error_came_after_a_blink_of_seconds() -> None:
    quick = [Visit(1_700_000_000.0, "home", "error", 0.02, 500)]
    texts = {c.text for s in range(20) for c in choose_reports(("shop/home/slow",), quick, ("w1",), str(s), 1, 0.0)}
    assert not any(" 2 secs" in t for t in texts)
    assert any(any(ch.isdigit() for ch in t) for t in texts)


def test_the_same_seed_chooses_the_same_texts() -> None:
    arguments = (("shop/_site/unrelated",), SEEN, ("w1", "w2", "w3"))
    assert choose_reports(*arguments, "a", 3, 0.0) == choose_reports(*arguments, "a", 3, 0.0)
    assert len({choose_reports(*arguments, str(s), 3, 0.0) for s in range(8)}) > 1


def test_a_writer_who_is_not_in_the_corpus_is_named() -> None:
    with pytest.raises(CorpusError, match="w99"):
        choose_reports(("shop/home/slow",), SEEN, ("w99",), "a", 1, 0.0)


def test_notes_are_read_back_by_when_the_visit_ended(tmp_path: Path) -> None:
    path = tmp_path / "n" / "notes.jsonl"
    for visit in SEEN:
        append(path, visit)
    with path.open("a") as file:
        file.write('{"at": 1, "feat')
    assert read(path) == tuple(SEEN)
    assert read(path, 1_700_000_005.0, 1_700_000_010.0) == (SEEN[0],)
