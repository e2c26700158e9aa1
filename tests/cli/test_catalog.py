"""``revelio catalog``."""

from __future__ import annotations

from pathlib import Path

from tests.cli.made import CommandLine
from tests.training.evaluation.made import CATALOG_YAML


def test_a_good_file_is_counted_and_listed(revelio: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text(CATALOG_YAML)
    assert revelio("catalog", "check", file, "--json").json["templates"] == 3
    assert "good: 2 tools, 3 templates" in revelio("catalog", "check", file).err
    listed = revelio("catalog", "list", file, "--json").json
    assert [t["id"] for t in listed] == ["meter.cpu", "meter.memory", "logs.errors"]
    assert "Errors of ${container}" in revelio("catalog", "list", file).out


def test_a_mistake_is_shown_as_file_and_line(revelio: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text("tool: meter\ntemplates:\n  - id: a\n    title: CPU of ${place}\n")
    ran = revelio("catalog", "check", file)
    assert ran.code == 1
    assert ran.err.startswith(f"error: {file}:3: ")
    assert "place" in ran.err


def test_a_file_that_is_not_there_is_an_error(revelio: CommandLine, tmp_path: Path) -> None:
    ran = revelio("catalog", "check", tmp_path / "gone.yaml")
    assert ran.code == 1
    assert "gone.yaml" in ran.err
