"""Joins a campaign to the running testbed: its engine, its users' notes, the report corpus and the tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from fault_injection.apps import app_named
from fault_injection.campaigns.environment import Environment
from fault_injection.docker_engine import DockerEngine
from fault_injection.testbed_system import system_of
from revelio.catalog import bundled_catalog
from revelio.errors import FaultError, InvalidInputError
from revelio.settings import load_settings
from revelio.systems.incidents.dataset import TEST_WRITERS, TRAIN_WRITERS
from revelio.systems.incidents.exchange import Note, Report
from revelio.systems.system import open_system
from revelio.types import Window
from testbed.errors import CorpusError, StackError
from testbed.progress import Progress, silent
from testbed.stack import down, status, up
from testbed.stack.project import find_project
from testbed.users.cells import cells
from testbed.users.corpus import CORPUS, SITE
from testbed.users.notes import Visit
from testbed.users.reports import choose_reports

QUIET = ("busy_spike", "unrelated")
"""Cells of people who write although nothing is wrong."""
MOST_REPORTS = 6
PATIENCE_S = 15.0
"""Longest wait for one answer of a backend: the faults slow them down too, and no page waits for them."""


class NotesFile:
    """The probe users' notes, read on from where the last reading ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._notes: list[Note] = []

    def notes(self, start: float, end: float) -> tuple[Note, ...]:
        """Notes of the visits that ended in that span; none while the file does not exist."""
        self._read_on()
        return tuple(n for n in self._notes if start <= n.at + n.seconds <= end)

    def _read_on(self) -> None:
        if not self._path.is_file():
            return
        if self._path.stat().st_size < self._position:
            self._position, self._notes = 0, []
        with self._path.open("rb") as file:
            file.seek(self._position)
            whole = file.read().rpartition(b"\n")[0]
        if whole:
            self._position += len(whole) + 1
            self._notes += [Note(**json.loads(line)) for line in whole.splitlines()]


class CorpusReporters:
    """Reports out of the corpus, by what users noted and nothing else."""

    def __init__(self, app: str, folder: Path = CORPUS, writers: tuple[str, ...] = ()) -> None:
        """``writers``, when given, write for every split; else the training and the test writers each for theirs."""
        self._app, self._folder, self._writers = app, folder, writers

    def complaints(self, notes: tuple[Note, ...], window: Window) -> tuple[str, ...]:
        """The cells that fit, but for those of a quiet time."""
        return tuple(cell for cell in cells(self._app, *_parted(notes, window)) if cell.rsplit("/", 1)[1] not in QUIET)

    def choose(
        self, notes: tuple[Note, ...], window: Window, split: str, seed: str, *, site_wide: bool = True
    ) -> tuple[Report, ...]:
        """Up to six texts. Raises ``InvalidInputError`` when the corpus lacks a writer."""
        visits, before = _parted(notes, window)
        writers = self._writers or (TRAIN_WRITERS if split == "train" else tuple(sorted(TEST_WRITERS)))
        fitting = [cell for cell in cells(self._app, visits, before) if site_wide or f"/{SITE}/" not in cell]
        if not fitting:
            return ()
        try:
            texts = choose_reports(fitting, visits, writers, seed, MOST_REPORTS, window.end, self._folder)
        except CorpusError as error:
            raise InvalidInputError(str(error)) from error
        return tuple(Report(t.text, t.writer, t.cell) for t in texts)


def open_environment(app_name: str, reports: Path = CORPUS) -> Environment:
    """The running testbed of that application. Raises ``RevelioError`` when it is unknown or the engine is away."""
    app = app_named(app_name)
    system = load_settings().systems.get(app_name) or system_of(app_name)
    catalog = bundled_catalog()
    return Environment(
        app=app,
        engine=DockerEngine(app.project),
        users=NotesFile(find_project(app_name).state / "notes.jsonl"),
        reporters=CorpusReporters(app_name, reports),
        system=open_system(app_name, system, catalog, PATIENCE_S),
        catalog=catalog,
        renew=lambda: _renew(app_name),
    )


@contextmanager
def running_stack(app_name: str, shown: AbstractContextManager[Progress] | None = None) -> Iterator[None]:
    """That application's stack up for the block; taken down by its end when it was not up before. Raises ``StackError``.

    ``shown`` shows the steps until it is up.
    """
    there = bool(status(app_name).containers)
    with shown or nullcontext(silent) as progress:
        up(app_name, progress=progress)
    try:
        yield
    finally:
        if not there:
            down(app_name)


def _renew(app_name: str) -> None:
    try:
        down(app_name)
        up(app_name)
    except StackError as error:
        raise FaultError(f"the stack could not be restarted: {error}") from error


def _parted(notes: tuple[Note, ...], window: Window) -> tuple[tuple[Visit, ...], tuple[Visit, ...]]:
    """The window's visits and those before it."""
    visits = [Visit(n.at, n.feature, n.outcome, n.seconds, n.status, n.detail) for n in notes]
    inside = tuple(v for v in visits if window.start <= v.ended <= window.end)
    return inside, tuple(v for v in visits if v.ended < window.start)
