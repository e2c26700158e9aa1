"""A running process's clock is moved and put right, nobody else's is, and a process that was started anew is left alone."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import httpx
import pytest

from fault_injection import inject as inject_module
from fault_injection.apps import App, app_named
from fault_injection.inject import inject, open_faults, undo
from fault_injection.kinds import clock, kind_named
from fault_injection.mechanisms.process_clock import Write, skew, started, write
from fault_injection.spec import Fault
from revelio.errors import FaultError
from tests.fault_injection.fake_engine import FakeEngine, Killed

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="a process's clock can be moved on x86-64 only")
DAY = 86400
COARSE = 5
"""Linux' CLOCK_REALTIME_COARSE, which Python has no name for."""
CLOCK = f"""
import sys, threading, time
def read_on():
    while True:
        time.time()
        sum(range(500))
threading.Thread(target=read_on, daemon=True).start()
for _ in sys.stdin:
    print(time.time(), time.clock_gettime({COARSE}), time.monotonic(), flush=True)
"""
FAULT = Fault("clock_skew", "cart", "behind")


class Service:
    """A process that tells its time when it is asked, while a thread of it does nothing but look at the clock."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", CLOCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.off()

    def off(self) -> tuple[float, float, float]:
        """Seconds by which its clocks differ from ours: real, coarse, monotonic."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("now\n")
        self.process.stdin.flush()
        real, coarse, steady = map(float, self.process.stdout.readline().split())
        return real - time.time(), coarse - time.time(), steady - time.monotonic()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


class Standing(FakeEngine):
    """An engine whose containers are all one process, which answers with its date."""

    def __init__(self, *services: str) -> None:
        super().__init__(*services)
        self.service = Service()

    def pid(self, service: str) -> int:
        return self.service.process.pid


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path)


@pytest.fixture
def engine(app: App, monkeypatch: pytest.MonkeyPatch) -> Iterator[Standing]:
    found = Standing(*app.places)

    def page(url: str, timeout: float) -> httpx.Response:
        return httpx.Response(200, headers={"Date": formatdate(time.time() + found.service.off()[0], usegmt=True)})

    monkeypatch.setattr("fault_injection.kinds.clock.httpx.get", page)
    monkeypatch.setattr(clock.ClockSkew, "settle_s", 0.05)
    monkeypatch.setattr(inject_module, "RECOVERY_S", 0.1)
    monkeypatch.setattr(inject_module, "answers", lambda app, place, engine, seconds: 0.01)
    yield found
    found.service.end()


def near(*expected: float) -> object:
    return pytest.approx(expected, abs=5.0)


@pytest.mark.parametrize("days", [-3, 40])
def test_the_time_of_day_moves_and_monotonic_time_does_not(days: int) -> None:
    service = Service()
    try:
        after, before = skew(service.process.pid, days * DAY)
        write(service.process.pid, after)
        assert service.off() == near(days * DAY, days * DAY, 0)
        write(service.process.pid, before)
        assert service.off() == near(0, 0, 0)
        assert skew(service.process.pid, 0)[1] == before
    finally:
        service.end()


def test_it_goes_on_after_being_written_to_again_and_again() -> None:
    service = Service()
    try:
        after, before = skew(service.process.pid, DAY)
        for _ in range(20):
            write(service.process.pid, after)
            write(service.process.pid, before)
        assert service.off() == near(0, 0, 0)
    finally:
        service.end()


def test_a_process_that_is_gone_cannot_be_written_to() -> None:
    service = Service()
    pid = service.process.pid
    service.end()
    for act in (lambda: skew(pid, DAY), lambda: write(pid, (Write(0, b""),)), lambda: started(pid)):
        with pytest.raises(FaultError, match="is gone"):
            act()


def test_another_processor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(FaultError, match="on x86-64 only, not on aarch64"):
        skew(1, DAY)


@pytest.mark.parametrize("strength", ["behind", "ahead"])
def test_it_is_verified_by_the_date_of_a_page_and_undone(app: App, engine: Standing, strength: str) -> None:
    injection = inject(app, Fault("clock_skew", "cart", strength), engine)
    assert "a page of cart is dated" in injection.verified_by
    assert abs(engine.service.off()[0]) > DAY
    undo(app, engine)
    assert engine.service.off() == near(0, 0, 0)
    assert undo(app, engine) == ()


def test_a_kill_after_the_act_leaves_what_undo_needs(app: App, engine: Standing, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as dead:
        dead.setattr(inject_module, "_undo_all", lambda *_: ())
        dead.setattr(clock.ClockSkew, "active", dies)
        with pytest.raises(Killed):
            inject(app, FAULT, engine)
    assert engine.service.off()[0] < -2 * DAY
    assert open_faults(app) == (FAULT,)
    undo(app, engine)
    assert engine.service.off() == near(0, 0, 0)


def test_a_process_that_was_started_anew_is_left_alone(app: App, engine: Standing) -> None:
    inject(app, FAULT, engine)
    engine.service.end()
    engine.service = Service()
    memory = Path(f"/proc/{engine.service.process.pid}/maps").read_text()
    undo(app, engine)
    assert Path(f"/proc/{engine.service.process.pid}/maps").read_text() == memory
    assert engine.service.off() == near(0, 0, 0)


def test_the_same_number_given_to_another_process_is_not_the_same_process(app: App, engine: Standing) -> None:
    inject(app, FAULT, engine)
    path = app.state / "journal.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for step in lines[0]["undo"]:
        step["arguments"] = [[name, value + 1 if name == "started" else value] for name, value in step["arguments"]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(FaultError, match=r"cart did not recover: a page of cart is dated -72\.0 h"):
        undo(app, engine)


def test_only_our_own_services_can_be_skewed(app: App) -> None:
    with pytest.raises(FaultError, match="cannot be applied at 'redis' of shop"):
        kind_named("clock_skew").validate(app, Fault("clock_skew", "redis", "behind"))


def test_a_page_without_a_date_is_no_measurement(app: App, engine: Standing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fault_injection.kinds.clock.httpx.get", lambda url, timeout: httpx.Response(200))
    with pytest.raises(FaultError, match="cart serves no page"):
        inject(app, FAULT, engine)
    assert engine.service.off() == near(0, 0, 0)
