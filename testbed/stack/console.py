"""Shows steps on a terminal as lines that change in place, elsewhere as plain lines when something changes phase."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from testbed.progress import Phase, Progress, Step

MARKS: dict[Phase, tuple[str, str]] = {"running": ("", ""), "done": ("✓", "green"), "failed": ("✗", "red")}


@contextmanager
def shown(console: Console) -> Iterator[Progress]:
    """A progress that is shown on the console while the block runs."""
    steps: dict[str, tuple[Step, float, float]] = {}

    def remember(step: Step) -> Phase | None:
        before = steps.get(step.subject)
        now = time.monotonic()
        steps[step.subject] = (step, before[1] if before else now, now)
        return before[0].phase if before else None

    if not console.is_terminal:

        def line(step: Step) -> None:
            if remember(step) != step.phase:
                console.print(Text(f"{step.subject}: {step.detail or step.phase}"))

        yield line
        return

    with Live(console=console, refresh_per_second=4, get_renderable=lambda: _table(steps)):
        yield lambda step: remember(step) and None


def _table(steps: dict[str, tuple[Step, float, float]]) -> Table:
    table = Table.grid(padding=(0, 1))
    for step, began, last in list(steps.values()):
        mark, style = MARKS[step.phase]
        took = (time.monotonic() if step.phase == "running" else last) - began
        spinner = Spinner("dots") if step.phase == "running" else Text(mark, style=style)
        table.add_row(spinner, Text(step.subject), Text(f"{took:.0f} s", style="dim"), Text(step.detail, style="dim"))
    return table
