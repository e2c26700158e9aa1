"""What verbs print while they work."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.table import Table

from revelio.cli import output


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_being_found_stands_below_the_bars_of_a_terminal_only(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), force_terminal=terminal, width=60, _environ={})
    monkeypatch.setattr(output, "console", lambda stderr=False: screen)
    grid = Table("method")
    grid.add_row("boosted_trees")
    with output.StepBars() as bars:
        bars.report("score", 1, 3)
        bars.show([grid])
    written = screen.file.getvalue()  # type: ignore[attr-defined]
    assert ("boosted_trees" in written) is terminal


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a console that is no terminal writes."""
    written = io.StringIO()
    monkeypatch.setattr(output, "console", lambda stderr=False: Console(file=written, width=60, _environ={}))
    return written


def test_without_a_terminal_a_step_is_said_when_it_begins_and_when_it_ends(piped: io.StringIO) -> None:
    with output.StepBars() as bars:
        bars.report("load", 0, 1)
        assert "load" in piped.getvalue()
        for done in range(4):
            bars.report("score", done, 3)
        bars.report("score", 3, 3)
    lines = [line.partition(" ")[2] for line in piped.getvalue().splitlines()]
    assert lines == ["load", "score: 0 of 3", "score: 3 of 3"]


def test_without_a_terminal_a_long_step_is_said_now_and_then(piped: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 4))
    monkeypatch.setattr("revelio.cli.output.time.monotonic", lambda: float(next(clock)))
    with output.StepBars() as bars:
        for done in range(9):
            bars.report(f"train, loss {9 - done}", done, 0)
    lines = [line.partition(" ")[2] for line in piped.getvalue().splitlines()]
    assert lines == ["train, loss 9", "train, loss 6: 3", "train, loss 3: 6"]


def test_on_a_terminal_a_step_has_one_bar_whatever_changes_after_its_comma(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=60, _environ={"TERM": "xterm"})
    monkeypatch.setattr(output, "console", lambda stderr=False: screen)
    with output.StepBars() as bars:
        for done in range(1, 4):
            bars.report(f"train fold-0, loss {9 - done}", done, 3)
    last = screen.file.getvalue().rpartition("train fold-0")[2]  # type: ignore[attr-defined]
    assert "loss 6" in last and "3/3" in last
    assert "loss 8" not in last
