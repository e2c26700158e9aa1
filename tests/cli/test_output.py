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
