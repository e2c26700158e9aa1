"""Noise is real and verified, is undone like any fault, and nothing in it names the project."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from fault_injection.apps import App, app_named
from fault_injection.engine import CpuLimit, CpuUsage
from fault_injection.kinds import kind_named, kinds, noise_around, noise_code
from fault_injection.kinds.noise_code import NoisyVersion, Writing
from fault_injection.labels import load_labels
from fault_injection.mechanisms import database, redis_server
from fault_injection.mechanisms.background import scale_by_turns
from fault_injection.spec import Effect, Fault
from testbed.stack import applications
from tests.fault_injection.fake_engine import FakeEngine
from tests.fault_injection.traces import telling_words
from tests.fault_injection.world import World

NOISE = [kind for kind in kinds() if kind.category == "noise"]
VERSIONS = [kind for kind in NOISE if isinstance(kind, NoisyVersion)]


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path / "state")


@pytest.fixture
def world(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    for module in (noise_around, noise_code):
        monkeypatch.setattr(module, "SAMPLE_S", 0.01)
    monkeypatch.setattr(noise_code, "running_version", lambda *_: Effect(True, "version 2 runs"))
    return World(app, tmp_path)


def fault(name: str, app: App) -> Fault:
    kind = kind_named(name)
    return Fault(name, kind.places(app)[0], next(iter(kind.strengths)))


def test_there_are_fifteen_kinds_in_every_application_and_nothing_accepts_them_as_a_cause() -> None:
    for name in applications():
        assert sum(bool(kind.places(app_named(name))) for kind in NOISE) >= 15
    assert not {kind.name for kind in NOISE} & set(load_labels())


@pytest.mark.parametrize("kind", VERSIONS, ids=lambda kind: kind.name)
def test_a_noisy_version_compiles_at_each_strength_and_reads_like_the_kit(kind: NoisyVersion, app: App, world: World) -> None:
    for strength in kind.strengths:
        assert kind.change(app, Fault(kind.name, kind.places(app)[0], strength), world).do
        assert not telling_words(kind.statements.format(**kind.strengths[strength]))


@pytest.mark.parametrize("kind", [k for k in VERSIONS if k.function == "run"], ids=lambda kind: kind.name)
def test_what_a_noisy_version_does_goes_on_in_a_thread_beside_serving(
    kind: NoisyVersion, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    turns: list[float] = []

    def sleep(seconds: float) -> None:
        turns.append(seconds)
        if len(turns) > 4:
            raise StopIteration

    class Thread:
        def __init__(self, target: Callable[[], None], daemon: bool) -> None:
            self.target = target
            assert daemon, "it must not keep the service from ending"

        def start(self) -> None:
            with pytest.raises(StopIteration):
                self.target()

    monkeypatch.setattr(threading, "Thread", Thread)
    settings = SimpleNamespace(environ={"PORT": "8000"})
    names: dict[str, Any] = {
        "time": SimpleNamespace(sleep=sleep),
        "log": logging.getLogger("kit"),
        "read_settings": lambda: settings,
    }
    exec(dedent(kind.statements.format(**next(iter(kind.strengths.values())))), names)
    assert len(turns) == 5
    assert not isinstance(kind, Writing) or kind.phrase in caplog.text


@pytest.mark.parametrize("kind", [k for k in VERSIONS if isinstance(k, Writing)], ids=lambda kind: kind.name)
def test_a_noisy_log_is_verified_by_its_lines(kind: Writing, app: App, world: World) -> None:
    assert not kind.active(app, fault(kind.name, app), world).confirmed
    world.said = f'{{"message": "{kind.phrase} here"}}'
    assert kind.active(app, fault(kind.name, app), world).confirmed


@pytest.mark.parametrize("name", ["housekeeping_job", "collection_storm"])
@pytest.mark.parametrize(("share", "confirmed"), [(0.1, True), (0.01, False)])
def test_work_beside_serving_is_verified_by_the_time_that_it_uses(
    app: App, world: World, name: str, share: float, confirmed: bool
) -> None:
    usage = iter((CpuUsage(10.0, 5.0, 0, 0), CpuUsage(20.0, 5.0 + 10 * share, 0, 0)))
    world.cpu_usage = lambda service: next(usage)  # type: ignore[method-assign]
    assert kind_named(name).active(app, fault(name, app), world).confirmed == confirmed


@pytest.mark.parametrize(
    ("said", "confirmed"), [(b"HTTP/1.1 503 Service Unavailable\r\n", True), (b"HTTP/1.1 200 OK\r\n", False)]
)
def test_a_flapping_health_page_is_verified_by_its_answer(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch, said: bytes, confirmed: bool
) -> None:
    monkeypatch.setattr(noise_code, "reply", lambda *_, **__: said)
    assert kind_named("flapping_health").active(app, fault("flapping_health", app), world).confirmed == confirmed


@pytest.mark.parametrize("name", ["slow_report", "nightly_backup", "table_maintenance"])
def test_a_repeated_statement_is_verified_by_the_calls_that_the_database_counts(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for calls, confirmed in ((0, False), (3, True)):
        monkeypatch.setattr(database, "ask", lambda *_, calls=calls: [(calls,)])
        assert kind_named(name).active(app, fault(name, app), world).confirmed == confirmed


def test_connection_churn_is_verified_by_the_sessions_that_begin(app: App, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for begun, confirmed in ((1, False), (9, True)):
        counts = iter((100, 100 + begun))
        monkeypatch.setattr(database, "ask", lambda *_, counts=counts: [(next(counts),)])
        assert kind_named("connection_churn").active(app, fault("connection_churn", app), world).confirmed == confirmed


def test_a_scan_of_the_cache_is_verified_by_the_scripts_that_it_runs(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for made, confirmed in ((0, False), (4, True)):
        counts = iter((7, 7 + made))
        monkeypatch.setattr(redis_server, "calls", lambda *_, counts=counts: next(counts))
        assert kind_named("cache_scan").active(app, fault("cache_scan", app), world).confirmed == confirmed


@pytest.mark.parametrize("name", ["bot_traffic", "cache_warm_up"])
def test_visitors_are_verified_by_the_answers_that_they_get(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for answers, confirmed in ((0, False), (1, True)):
        counts = iter((50, 50 + answers))
        monkeypatch.setattr(noise_around, "requests_served", lambda *_, counts=counts, **__: next(counts))
        assert kind_named(name).active(app, fault(name, app), world).confirmed == confirmed


def test_autoscaling_never_goes_below_the_usual_limit_and_ends_there() -> None:
    engine, usual, seen = FakeEngine("cart"), CpuLimit(nano_cpus=500_000_000), []
    set_limit = engine.set_cpu_limit

    def noting(service: str, limit: CpuLimit) -> None:
        seen.append(limit.nano_cpus)
        set_limit(service, limit)

    engine.set_cpu_limit = noting  # type: ignore[method-assign]
    scale_by_turns(engine, "cart", usual, 0.0, lambda: len(seen) < 4)
    assert seen == [750_000_000, 500_000_000] * 2 + [500_000_000]
    assert engine.limits["cart"] == usual
