"""``revelio incidents``: what is imported can be listed, shown and exported, and nothing is lost or overwritten unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from revelio.settings import BUNDLED
from revelio.systems.incidents.exchange import read_records, write_records
from tests.cli.made import CommandLine
from tests.training.evaluation.made import record

TEXTS = (("w1", "the cart hangs"),)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    path = tmp_path / "theirs.jsonl"
    write_records(path, [record("one", "", "cart", TEXTS), record("two", "", "orders", TEXTS)])
    return path


def test_an_empty_folder_lists_nothing_and_says_what_to_do(revelio: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "incidents").mkdir()
    assert revelio("incidents", "list", "--json").json == []
    assert "import" in revelio("incidents", "list").err


def test_imported_incidents_are_listed_and_shown(revelio: CommandLine, theirs: Path) -> None:
    assert revelio("incidents", "import", theirs, "--json").json["imported"] == ["one", "two"]
    listed = revelio("incidents", "list", "--json").json
    assert [(i["id"], i["reports"]) for i in listed] == [("one", ["the cart hangs"]), ("two", ["the cart hangs"])]
    assert "the cart hangs" in revelio("incidents", "list").out
    shown = revelio("incidents", "show", "one").out
    first = next(line for line in shown.splitlines() if "cpu" in line)
    assert first.startswith("cart")
    assert "▂▂▂▂▂▂▂▂▂▂▂▂│████" in first.replace("▃", "▂")


def test_export_gives_back_what_was_imported(revelio: CommandLine, theirs: Path, tmp_path: Path) -> None:
    revelio("incidents", "import", theirs)
    assert revelio("incidents", "export", "--out", tmp_path / "all.jsonl.xz").code == 0
    assert list(read_records(tmp_path / "all.jsonl.xz")) == list(read_records(theirs))
    revelio("incidents", "export", "two", "--out", tmp_path / "two.jsonl")
    assert [r.id for r in read_records(tmp_path / "two.jsonl")] == ["two"]


def test_an_incident_that_is_there_is_overwritten_only_when_asked(revelio: CommandLine, theirs: Path) -> None:
    revelio("incidents", "import", theirs)
    again = revelio("incidents", "import", theirs)
    assert again.code == 1
    assert "--replace" in again.err
    assert revelio("incidents", "import", theirs, "--replace").code == 0


def test_one_bad_line_imports_nothing(revelio: CommandLine, theirs: Path, tmp_path: Path) -> None:
    theirs.write_text(theirs.read_text() + '{"id": "three"}\n')
    ran = revelio("incidents", "import", theirs)
    assert ran.code == 1
    assert f"{theirs}:3" in ran.err
    assert not (tmp_path / "incidents").exists()


@pytest.mark.parametrize("name", ["../escape", "a/b", "", ".hidden", "x" * 200])
def test_an_id_that_is_no_file_name_is_refused(revelio: CommandLine, tmp_path: Path, name: str) -> None:
    write_records(tmp_path / "odd.jsonl", [record(name, "", "cart", TEXTS)])
    ran = revelio("incidents", "import", tmp_path / "odd.jsonl")
    assert ran.code == 1
    assert "incident id" in ran.err
    assert not (tmp_path / "incidents").exists()


def test_an_id_that_comes_twice_is_refused(revelio: CommandLine, tmp_path: Path) -> None:
    write_records(tmp_path / "twice.jsonl", [record("same", "", "cart"), record("same", "", "orders")])
    assert "comes twice" in revelio("incidents", "import", tmp_path / "twice.jsonl").err


def test_the_installed_package_is_not_written_to(revelio: CommandLine, theirs: Path) -> None:
    ran = revelio("incidents", "import", theirs, "--to", BUNDLED / "incidents")
    assert ran.code == 1
    assert "--to DIR" in ran.err


def test_export_under_another_suffix_is_refused(revelio: CommandLine, theirs: Path, tmp_path: Path) -> None:
    revelio("incidents", "import", theirs)
    assert revelio("incidents", "export", "--out", tmp_path / "all.json").code == 1
