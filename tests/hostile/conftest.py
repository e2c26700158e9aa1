"""Marks the attacks, counts what they come to, and prints it as one table at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.served import Served
from tests.hostile.tally import Tally

_TALLY = pytest.StashKey[Tally]()
_HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Everything in this folder but the page is ``hostile``, takes minutes, and runs only where it is asked for by that name."""
    attacks = [item for item in items if item.path.is_relative_to(_HERE) and item.path.name != "test_page.py"]
    for item in attacks:
        item.add_marker(pytest.mark.hostile)
    if "hostile" not in config.option.markexpr:
        items[:] = [item for item in items if item not in attacks]
        config.hook.pytest_deselected(items=attacks)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """A test that is left out says so on the page."""
    report = yield
    if report.skipped and item.path.is_relative_to(_HERE) and isinstance(report.longrepr, tuple):
        item.config.stash.setdefault(_TALLY, Tally()).skipped.append(report.longrepr[2].removeprefix("Skipped: "))
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The table."""
    tally = config.stash.get(_TALLY, None)
    if tally is None or tally == Tally():
        return
    tally.keep()
    terminalreporter.section("what the attacks came to")
    for name, value in tally.rows():
        terminalreporter.line(f"{name:>60}  {value}")
    for line in (*tally.findings(), *(f"not tried: {why}" for why in tally.skipped)):
        terminalreporter.line(line)


@pytest.fixture(scope="session")
def tally(request: pytest.FixtureRequest) -> Tally:
    """The counts of this run."""
    # On a busy machine one file can be run at a time, each adding to the table of those before.
    begun = Tally.load() if os.environ.get("REVELIO_HOSTILE_ADD") else Tally()
    return request.config.stash.setdefault(_TALLY, begun)


Serve = Callable[..., Served]


@pytest.fixture(scope="module")
def serve(tally: Tally, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start a server: ``serve(settings, hidden=...)``. It ends with the module, and what it said is searched."""
    started: list[Served] = []

    def start(settings: str = "", **given: Any) -> Served:
        given.setdefault("folder", tmp_path_factory.mktemp("served"))
        started.append(Served(tally=tally, settings=settings, **given))
        return started[-1].start()

    yield start
    for one in started:
        if one.process is not None and one.process.poll() is None:
            one.stop()


@pytest.fixture
def nothing_broke(tally: Tally) -> Iterator[None]:
    """The check of tests that only send: none of their requests got a 5xx that names no backend."""
    before = len(tally.failures)
    yield
    assert tally.failures[before:] == []
