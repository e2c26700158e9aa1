"""How verbs fail: no traceback for a path that cannot be read or written, and JSON where it is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.made import CommandLine

ROOT = Path(__file__).parent.parent.parent
DATASET = ROOT / "data" / "three_apps"


@pytest.mark.parametrize(
    "words",
    [
        ("incidents", "export", "--out", "file/x.jsonl"),
        ("store", "export", "file/x.jsonl"),
        ("catalog", "import", "rules", "rules.yaml", "--out", "file/x.yaml"),
        ("models", "replay-set", "--dataset", str(DATASET), "--out", "file/x"),
        ("train", "--dataset", str(DATASET), "--out", "file/x"),
        ("eval", "--dataset", str(DATASET), "--html", "file/x.html"),
        ("eval", "--dataset", str(DATASET), "--details", "file/x.jsonl"),
        ("study", "--dataset", str(DATASET), "--html", "file/x.html"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_an_output_that_cannot_be_written_is_one_clear_line(
    revelio: CommandLine, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REVELIO_INCIDENTS")
    (tmp_path / "file").write_text("a file, not a folder")
    (tmp_path / "rules.yaml").write_text("groups: [{name: g, rules: [{alert: Down, expr: up == 0}]}]")
    ran = revelio(*words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: file")
    assert "folder is needed" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_folder_that_is_named_as_a_file_is_said_to_be_one(
    revelio: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "page.html").mkdir()
    ran = revelio("eval", "--dataset", DATASET, "--html", "page.html")
    assert ran.code == 1
    assert "page.html" in ran.err
    assert "folder where a file is needed" in ran.err


@pytest.mark.parametrize("option", ["--encoder", "--from"])
def test_a_model_to_train_from_that_is_not_there_is_wrong_usage(revelio: CommandLine, option: str) -> None:
    ran = revelio("train", "--dataset", DATASET, "--out", "model", option, "nowhere")
    assert ran.code == 2
    assert "nowhere" in ran.err


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("incidents", "show", "nowhere"), 1, "nowhere"),
        (("recommend", "slow", "-k", "0"), 2, "-k"),
        (("incidents", "shwo", "nowhere"), 2, "shwo"),
        (("incidents", "export", "--out", "settings.toml/x.jsonl"), 1, "settings.toml"),
    ],
)
def test_with_json_an_error_is_json_on_standard_error(
    revelio: CommandLine, words: tuple[str, ...], code: int, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REVELIO_INCIDENTS")
    (tmp_path / "settings.toml").touch()
    ran = revelio(*words, "--json")
    assert (ran.code, ran.out) == (code, "")
    shown = json.loads(ran.err)
    assert part in shown["error"]
    assert shown["exit_code"] == code
