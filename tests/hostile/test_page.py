"""The table of a run goes between the marks of its page, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile.page import BEGIN, END, PAGE, pasted
from tests.hostile.tally import Tally, markdown


def test_the_table_of_a_run_replaces_the_one_before(tmp_path: Path) -> None:
    tally = Tally()
    tally.add(inputs=12_300, lost=1)
    tally.skipped.append("a full disk needs unshare and nsenter")
    tally.keep(tmp_path / "kept.json")
    table = markdown(Tally.load(tmp_path / "kept.json"))
    page = pasted(f"before\n{BEGIN}\nold\n{END}\nafter\n", table)
    assert page.startswith(f"before\n{BEGIN}\n| | |\n") and page.endswith(f"{END}\nafter\n")
    assert "| writes lost | 1 |" in page and "12,300" in page and "Not tried here: a full disk" in page
    assert "old" not in page


def test_a_page_without_marks_is_refused_and_ours_has_them() -> None:
    with pytest.raises(ValueError, match="marks"):
        pasted("nothing", "table")
    assert "table" in pasted(PAGE.read_text(encoding="utf-8"), "table")


def test_parts_of_a_run_add_up() -> None:
    one, other = (
        Tally(inputs=2, skipped=["a"], figures={"x": "1"}),
        Tally(inputs=3, failures=["500"], figures={"x": "2", "y": "3"}),
    )
    assert one + other == Tally(inputs=5, skipped=["a"], failures=["500"], figures={"x": "2", "y": "3"})
