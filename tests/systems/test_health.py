"""A page gets what backends say, and does not wait for those that take their time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from revelio.service import Service
from revelio.systems.health import HealthMonitor
from revelio.systems.system import ToolState
from tests.webui import made


class Slow(Service):
    """Its one system answers when it is let."""

    def __init__(self, folder: Path) -> None:
        super().__init__(made.settings(folder))
        self.may = threading.Event()
        self.asked = 0

    def system(self, name: str) -> Slow:  # type: ignore[override]
        return self

    def ping(self) -> tuple[ToolState, ...]:
        self.asked += 1
        self.may.wait(10)
        return (ToolState("prometheus", True, "2.42"),)


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Slow]:
    service = Slow(tmp_path)
    yield service
    service.may.set()


def test_a_slow_backend_is_left_behind_and_remembered_once_it_answers(slow: Slow) -> None:
    board = HealthMonitor(slow.system)  # type: ignore[arg-type]
    assert board.look(("shop",), 0.01)["shop"].at is None
    assert board.look(("shop",), 0.01)["shop"].at is None
    slow.may.set()
    deadline = time.monotonic() + 10
    while board.look(("shop",), 0.05)["shop"].at is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert board.look(("shop",), 0.0)["shop"].up == 1
    assert slow.asked == 1


def test_a_dead_backend_and_an_unknown_system_are_told_apart(tmp_path: Path) -> None:
    health = HealthMonitor(Service(made.settings(tmp_path)).system).look(("shop", "nope"), 10.0)
    assert [(t.tool, t.up) for t in health["shop"].tools] == [("prometheus", False)]
    assert "nope" in health["nope"].trouble


def test_a_system_whose_tool_breaks_is_asked_again(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    board = HealthMonitor(slow.system)  # type: ignore[arg-type]
    with monkeypatch.context() as broken:
        broken.setattr(slow, "ping", lambda: 1 // 0)
        assert board.look(("shop",), 10.0)["shop"].at is None
    slow.may.set()
    assert board.look(("shop",), 10.0)["shop"].up == 1


def test_a_clock_that_was_set_back_does_not_keep_an_old_answer(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    slow.may.set()
    board = HealthMonitor(slow.system)  # type: ignore[arg-type]
    board.look(("shop",), 10.0)
    monkeypatch.setattr("revelio.systems.health.time.time", lambda: 1_000_000.0)
    board.look(("shop",), 10.0)
    assert slow.asked == 2
