"""A fault in the background pauses by turns, ends when it is not wanted any more, and never leaves a container paused."""

from __future__ import annotations

import fcntl
import threading
import time
from pathlib import Path

import pytest

from fault_injection.mechanisms.background import lock_of, pause_by_turns, wait_until_gone
from revelio.errors import FaultError
from tests.fault_injection.fake_engine import FakeEngine, Killed


def test_it_pauses_and_lets_go_by_turns_until_not_wanted() -> None:
    engine = FakeEngine("cart")
    end = time.monotonic() + 0.35
    pause_by_turns(engine, "cart", 0.1, 0.05, lambda: time.monotonic() < end)
    assert engine.acts.count("pause cart") == 3
    assert engine.states["cart"] == "running"


def test_it_lets_go_when_it_is_interrupted() -> None:
    engine = FakeEngine("cart")
    engine.die_after = 0
    with pytest.raises(Killed):
        pause_by_turns(engine, "cart", 0.1, 0.05, lambda: True)
    assert engine.states["cart"] == "running"


def test_undoing_waits_until_the_background_process_is_gone(tmp_path: Path) -> None:
    with lock_of(tmp_path, "a1").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        threading.Timer(0.3, lambda: fcntl.flock(lock, fcntl.LOCK_UN)).start()
        started = time.monotonic()
        wait_until_gone(tmp_path, "a1")
        assert time.monotonic() - started >= 0.25


def test_a_background_process_that_stays_is_an_error(tmp_path: Path) -> None:
    with lock_of(tmp_path, "a1").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wait_until_gone(tmp_path, "another fault's")
        with pytest.raises(FaultError, match="a background process still holds"):
            wait_until_gone(tmp_path, "a1", seconds=0.2)
