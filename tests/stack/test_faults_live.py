"""On the real stack: each fault active, is undone to the letter, and a kill -9 of who made it leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fault_injection.apps import App, app_named
from fault_injection.docker_engine import DockerEngine
from fault_injection.inject import inject, open_faults, undo
from fault_injection.mechanisms.deploy import VERSION
from fault_injection.mechanisms.probe import answers
from fault_injection.spec import Fault
from revelio.errors import FaultError

DISTURBS = True
pytestmark = [pytest.mark.stack, pytest.mark.thorough]

FAULTS = (
    Fault("cpu_quota", "products", "hard"),
    Fault("container_pause", "cart", "whole"),
    Fault("container_pause", "redis", "intermittent"),
    Fault("exception_on_input", "payment", "all"),
    Fault("benign_deploy", "orders", "usual"),
    Fault("benign_spike", "gateway", "small"),
    Fault("delay", "cart", "hard"),
    Fault("loss", "products", "hard"),
    Fault("bandwidth", "products", "hard"),
    Fault("congestion", "postgres", "hard"),
    Fault("partition", "gateway->products", "whole"),
    Fault("tcp_reset", "cart->redis", "all"),
    Fault("wrong_route", "orders->payment", "dead gateway"),
    Fault("dns_failure", "cart", "whole"),
    Fault("clock_skew", "shipping", "behind"),
    Fault("negated_condition", "payment", "always"),
    Fault("changed_signature", "shipping", "renamed"),
    Fault("n_plus_one", "search", "all"),
    Fault("stale_cache", "notifier", "forever"),
    Fault("wrong_rounding", "cart", "always"),
    Fault("slow_serialisation", "orders", "hard"),
    Fault("lost_write", "cart", "always"),
    Fault("memory_leak", "search", "fast"),
    Fault("slow_consumer", "notifier", "moderate"),
    Fault("cpu_hog", "products", "hard"),
    Fault("memory_limit", "cart", "hard"),
    Fault("fd_exhaustion", "orders", "hard"),
    Fault("pid_limit", "postgres", "hard"),
    Fault("disk_slow", "redis", "hard"),
    Fault("disk_full", "redis", "whole"),
    Fault("container_stop", "products", "whole"),
    Fault("container_kill", "cart", "often"),
    Fault("crash_loop", "payment", "whole"),
    Fault("worker_stopped", "notifier", "whole"),
    Fault("wrong_db_host", "users", "whole"),
    Fault("wrong_upstream_port", "orders", "whole"),
    Fault("rate_limit_too_low", "search", "moderate"),
    # Tables, which bear the names of services.
    Fault("lock_held", "orders", "everybody"),
    Fault("dropped_index", "products", "all"),
    Fault("connection_leak", "orders", "fast"),
    Fault("slow_disk_on_db", "postgres", "hard"),
    Fault("traffic_flood", "search", "moderate"),
    Fault("retry_storm", "gateway", "hard"),
)
KILLED_TOO = (
    "delay",
    "congestion",
    "tcp_reset",
    "clock_skew",
    "disk_full",
    "lock_held",
    "dropped_index",
    "traffic_flood",
    "retry_storm",
)
KILLED = (*FAULTS[:4], *(fault for fault in FAULTS if fault.kind in KILLED_TOO))
DIES = """
import sys, time
from pathlib import Path
from fault_injection.apps import app_named
from fault_injection.docker_engine import DockerEngine
from fault_injection.inject import inject
from fault_injection.spec import Fault
app = app_named("shop", Path(sys.argv[1]))
inject(app, Fault(*sys.argv[2:5]), DockerEngine(app.project))
print("in force", flush=True)
time.sleep(60)
"""


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path)


@pytest.fixture
def engine(app: App) -> Iterator[DockerEngine]:
    found = DockerEngine(app.project)
    try:
        found.container_id("gateway")
    except FaultError as error:
        pytest.skip(str(error))
    yield found
    undo(app, found)


def standing(engine: DockerEngine, place: str) -> tuple[object, ...]:
    """All that a fault there may have changed; of an edge, that of both its ends."""
    return tuple(_standing(engine, end) for end in place.split("->"))


def _standing(engine: DockerEngine, place: str) -> tuple[object, ...]:
    version = engine.read_file(place, VERSION).content if place not in ("postgres", "redis") else b""
    shown = (("iptables", "-w", "5", "-S"), ("tc", "qdisc", "show", "dev", "eth0"), ("ip", "route"))
    return engine.state(place), engine.cpu_limit(place), version, *(engine.in_network(place, *command) for command in shown)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.kind}-{f.place}-{f.strength}")
def test_it_bites_and_is_undone_to_the_letter(app: App, engine: DockerEngine, fault: Fault) -> None:
    before = standing(engine, fault.place)
    injection = inject(app, fault, engine)
    assert injection.verified_by
    assert open_faults(app) == (fault,)
    (undone,) = undo(app, engine)
    assert undone.notes == ()
    assert standing(engine, fault.place) == before
    assert all(answers(app, end, engine, seconds=2.0) is not None for end in fault.place.split("->"))
    assert open_faults(app) == ()


@pytest.mark.parametrize("fault", KILLED, ids=lambda f: f"{f.kind}-{f.place}-{f.strength}")
def test_a_killed_injector_leaves_a_journal_that_cleans_everything(
    app: App, engine: DockerEngine, fault: Fault, tmp_path: Path
) -> None:
    before = standing(engine, fault.place)
    command = [sys.executable, "-c", DIES, str(tmp_path), fault.kind, fault.place, fault.strength]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as injector:
        assert injector.stdout is not None
        assert injector.stdout.readline() == "in force\n"
        injector.kill()
    assert open_faults(app) == (fault,)
    undo(app, engine)
    time.sleep(3.5)
    assert standing(engine, fault.place) == before
    assert open_faults(app) == ()


def test_a_paused_container_cannot_be_slowed(app: App, engine: DockerEngine) -> None:
    engine.pause("redis")
    try:
        with pytest.raises(FaultError, match="redis is paused, not running"):
            inject(app, Fault("container_pause", "redis", "whole"), engine)
    finally:
        engine.unpause("redis")
