"""The session shown in the docs: its commands work, and it is of the model and the incidents that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from revelio.cli.recording import COLUMNS, FOLDER, ROOT, SESSION, typed

SHOWN = (FOLDER / "session.txt").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (.+)$", SHOWN, flags=re.MULTILINE)
AGAIN = "type it again: make recording"


def test_what_is_shown_is_what_is_typed() -> None:
    patterns = [re.sub(r"\\{\w+\\}", r"\\S+", re.escape(command)) for command in SESSION]
    assert len(COMMANDS) == len(patterns), AGAIN
    assert all(re.fullmatch(pattern, command) for pattern, command in zip(patterns, COMMANDS, strict=True)), AGAIN


@pytest.mark.parametrize("command", COMMANDS)
def test_command_works_in_a_terminal_and_says_what_is_shown(command: str, tmp_path: Path) -> None:
    done = typed(command, tmp_path)
    assert done.code == 0, done.output
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.output)
    assert "\x1b" not in plain
    if "recommend" in command or "incidents" in command:
        assert plain != done.output, "a terminal has colours"
    if "doctor" not in command:  # what is installed differs from machine to machine
        assert said(plain) == said(SHOWN.partition(f"$ {command}\n")[2].partition("\n$ ")[0]), AGAIN


def said(text: str) -> str:
    """The letters, without what may differ from run to run, or from one processor to the next: times, shares and line breaks."""
    return "".join(re.sub(r"\d+ ms|[█░]+|\b\d+%", "", text).split())


def test_picture_says_the_same_and_asks_nobody_for_anything() -> None:
    picture = (FOLDER / "session.svg").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert command.replace(" ", "&#160;") in picture
    assert "url(http" not in picture and "@import" not in picture and "<image" not in picture


def test_nothing_of_the_machine_is_in_it() -> None:
    assert str(ROOT) not in SHOWN and "/tmp/" not in SHOWN
    assert max(len(line) for line in SHOWN.splitlines()) <= COLUMNS
