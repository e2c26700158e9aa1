"""What holds for every verb: exit codes, clean errors, version, help."""

from __future__ import annotations

from pathlib import Path

import pytest

from revelio import __version__
from tests.cli.made import CommandLine


def test_version_and_help_are_done(revelio: CommandLine) -> None:
    assert revelio("--version").out.strip() == f"revelio {__version__}"
    shown = revelio("--help")
    assert shown.code == 0
    assert "revelio doctor" in shown.out


@pytest.mark.parametrize("words", [("nonsense",), ("recommend", "-k", "0", "x"), ("faults", "inject"), ("train",)])
def test_wrong_usage_exits_with_2_and_says_so(revelio: CommandLine, words: tuple[str, ...]) -> None:
    ran = revelio(*words)
    assert ran.code == 2
    assert "Error" in ran.err
    assert ran.out == ""


def test_a_foreseen_error_exits_with_1_and_one_clear_line(revelio: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "incidents").mkdir()
    ran = revelio("incidents", "show", "nowhere")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "error: no recorded incident 'nowhere'; there are: none\n"


def test_a_wrong_setting_is_named(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVELIO_PORT", "many")
    ran = revelio("incidents", "list")
    assert ran.code == 1
    assert "setting port is 'many', which is not a whole number" in ran.err


def test_a_setting_file_that_is_named_but_missing_is_an_error(
    revelio: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REVELIO_CONFIG", str(tmp_path / "gone.toml"))
    ran = revelio("incidents", "list")
    assert ran.code == 1
    assert "gone.toml" in ran.err


@pytest.mark.parametrize(
    "words", [("incidents", "list"), ("incidents", "show", "x"), ("incidents", "export", "--out", "x.jsonl")]
)
def test_a_folder_of_incidents_that_is_not_there_is_an_error(revelio: CommandLine, words: tuple[str, ...]) -> None:
    ran = revelio(*words)
    assert (ran.code, ran.out) == (1, "")
    assert "setting incidents" in ran.err


@pytest.mark.parametrize("verb", ["status", "check-labels", "relabel", "pack", "freeze"])
def test_a_campaign_that_is_not_there_is_wrong_usage(revelio: CommandLine, verb: str) -> None:
    ran = revelio("campaign", verb, "--out", "nowhere")
    assert (ran.code, ran.out) == (2, "")
    assert "nowhere" in ran.err
