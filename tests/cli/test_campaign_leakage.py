"""``revelio campaign leakage`` and ``revelio campaign card``."""

from __future__ import annotations

from pathlib import Path

import pytest

from fault_injection.dataset.freeze import freeze
from tests.cli.made import CommandLine
from tests.fault_injection.dataset.test_freeze import GOOD, store
from tests.fault_injection.dataset.test_leakage import a_run


def test_marks_are_shown_with_whether_a_real_fault_leaves_them(revelio: CommandLine, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    store(tmp_path, *(a_run(f"h{n}", "cpu_hog", processes=54.0) for n in range(3)), *(a_run(f"q{n}", "none") for n in range(3)))
    ran = revelio("campaign", "leakage", "--out", tmp_path)
    (line,) = [x for x in ran.out.splitlines() if x.startswith("cpu_hog") and "series processes up" in x]
    assert line.split()[4:7] == ["100%", "0%", "yes"]


def test_a_strong_mark_that_nobody_has_explained_is_an_error_when_strict(revelio: CommandLine, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    store(
        tmp_path,
        *(a_run(f"h{n}", "cpu_quota", processes=54.0) for n in range(3)),
        *(a_run(f"q{n}", "memory_limit") for n in range(3)),
    )
    assert revelio("campaign", "leakage", "--out", tmp_path).code == 0
    strict = revelio("campaign", "leakage", "--out", tmp_path, "--strict", "--json")
    assert strict.code == 1
    assert {one["name"]: one["unlisted"] for one in strict.json}["cpu_quota"] == ["series processes up"]


def test_leakage_of_nothing_says_what_to_do(revelio: CommandLine, tmp_path: Path) -> None:
    ran = revelio("campaign", "leakage", "--out", tmp_path)
    assert ran.code == 1
    assert "run a campaign first" in ran.err


def test_a_card_is_printed_or_put_into_a_page(revelio: CommandLine, tmp_path: Path) -> None:
    freeze(store(tmp_path / "data", *GOOD))
    printed = revelio("campaign", "card", "--out", tmp_path / "data")
    assert printed.out.startswith("5 incidents, frozen as")
    page = tmp_path / "page.md"
    page.write_text("<!-- figures -->\n<!-- end of figures -->\n<!-- features -->\n<!-- end of features -->\n")
    assert revelio("campaign", "card", "--out", tmp_path / "data", "--write", page).code == 0
    assert printed.out.splitlines()[0] in page.read_text()
    assert revelio("campaign", "card", "--out", tmp_path / "data", "--json").json["splits"]["train"] == {"shop": 2}
