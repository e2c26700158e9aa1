"""What verbs print: JSON, tables and messages. Colour and width follow the terminal; ``NO_COLOR`` and pipes get plain text."""

from __future__ import annotations

import json
import math
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from revelio.errors.clean_text import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import TaskID

PIPED_WIDTH = 120
LINE_EVERY_S = 10.0
"""Seconds between two lines about the same step, where there is no terminal."""
_C1 = re.compile(r"[\x7f-\x9f]")
"""Controls that JSON leaves as they are, and a terminal may obey."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def console(*, stderr: bool = False) -> Console:
    """A console on standard output; text that goes to a file or pipe is 120 columns wide and has no colour."""
    from rich.console import Console  # 120 ms that `--help` and `--json` need not pay
    from rich.segment import Segment

    class Printable(Console):
        def render(self, *what: Any, **options: Any) -> Iterator[Segment]:
            """Names come from telemetry: what a terminal would obey is spelled out, and styles are Rich's own."""
            for segment in super().render(*what, **options):
                yield segment if segment.control else Segment(printable(segment.text), segment.style)

    stream = sys.stderr if stderr else sys.stdout
    return Printable(file=stream, width=None if stream.isatty() else PIPED_WIDTH, highlight=False, soft_wrap=False)


def emit(value: object) -> None:
    """Print a value (Pydantic model, dataclass, mapping, sequence) as JSON on standard output."""
    text = json.dumps(_plain(value), ensure_ascii=False, indent=2, allow_nan=False)
    typer.echo(_C1.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Sequence[int] = ()) -> None:
    """Print rows under headings; ``numbers`` are the indices of right-aligned columns. Cells are never read as markup."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=Text(title) if title else None, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        grid.add_column(name, justify="right" if index in numbers else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(cell if isinstance(cell, Text) else Text("" if cell is None else str(cell)) for cell in row))
    console().print(grid)


def say(message: str) -> None:
    """One line for the person, on standard error, so that standard output stays what was asked for."""
    typer.echo(printable(message), err=True)


def complain(message: str) -> None:
    """An error that was foreseen."""
    typer.secho("error: ", err=True, fg="red", nl=False)
    typer.echo(printable(message), err=True)


class StepBars:
    """Progress on standard error: a bar for each named step on a terminal, elsewhere a line now and then.

    What is being found can be shown below the bars, and goes when they end.
    """

    def __init__(self) -> None:
        """Nothing is shown before the block is entered."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        below: list[RenderableType] = []
        self._below = below

        class Bars(Progress):
            def get_renderables(self) -> Iterable[RenderableType]:
                yield from super().get_renderables()
                yield from below

        screen = console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bars = Bars(*columns, console=screen, disable=not screen.is_terminal)
        self._steps: dict[str, TaskID] = {}
        self._said: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.show(())
        self._bars.stop()

    def show(self, found: Iterable[RenderableType]) -> None:
        """Put these below the bars, instead of what is there."""
        self._below[:] = found
        self._bars.refresh()

    @property
    def shown(self) -> bool:
        """Whether there is a terminal that shows them."""
        return not self._bars.disable

    def report(self, what: str, done: int, total: int, words: str = "") -> None:
        """A step's progress; a name that is new begins a step. ``total`` is 0 where it is not known.

        What follows a comma in the name may change within a step. ``words`` are shown instead of the name.
        """
        step, words = what.partition(", ")[0], words or what
        if not self.shown:
            self._say(step, words, done, total)
            return
        if step not in self._steps:
            self._steps[step] = self._bars.add_task(words, total=total or None)
        self._bars.update(self._steps[step], completed=done, total=total or None, description=words)

    def _say(self, step: str, words: str, done: int, total: int) -> None:
        """A line when a step begins, when it ends, and every ``LINE_EVERY_S`` between."""
        now, begins, ends = time.monotonic(), step not in self._said, 1 < total == done
        if begins or (ends and self._said[step] < math.inf) or now - self._said[step] >= LINE_EVERY_S:
            self._said[step] = math.inf if ends else now
            counted = f" {done} of {total}" if total > 1 else f" {done}" if done and not total else ""
            self._bars.console.print(
                f"{time.strftime('%H:%M:%S')} {words}{counted and ':'}{counted}", markup=False, soft_wrap=True
            )


def _plain(value: object) -> Any:
    from pydantic import BaseModel  # 80 ms that `--help` need not pay

    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
