"""Faults of Redis as a server are measured by what it answers, and undone to the settings that were there."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fault_injection.apps import App, app_named
from fault_injection.kinds import kind_named, validate
from fault_injection.kinds import redis_server as kinds_module
from fault_injection.mechanisms import probe, redis_server
from fault_injection.spec import Fault
from revelio.errors import FaultError
from tests.fault_injection.traces import telling_words
from tests.fault_injection.world import World


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path / "state")


@pytest.fixture
def world(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(app, tmp_path)
    for name in ("settings", "figures", "configure"):
        monkeypatch.setattr(redis_server, name, getattr(made, f"redis_{name}"))
    monkeypatch.setattr(redis_server, "refusal", lambda *_: "")
    monkeypatch.setattr(time, "sleep", lambda _: None)
    return made


def test_a_place_that_is_no_redis_is_refused(app: App) -> None:
    with pytest.raises(FaultError, match="possible places: redis"):
        validate(app, Fault("slow_command", "postgres", "hard"))


@pytest.mark.parametrize(
    ("strength", "limit", "policy"), [("refuses", "1000000", "noeviction"), ("evicts", "1200000", "volatile-lru")]
)
def test_a_limit_below_what_it_holds_is_put_back_as_it_was(
    app: App, world: World, strength: str, limit: str, policy: str
) -> None:
    change = kind_named("store_memory_too_small").change(app, Fault("store_memory_too_small", "redis", strength), world)
    (do,), (undo,) = change.do, change.undo
    assert (f'"maxmemory": "{limit}"' in str(do.argument("changed"))) and (policy in str(do.argument("changed")))
    assert undo.argument("changed") == '{"maxmemory": "67108864", "maxmemory-policy": "volatile-lru"}'


@pytest.mark.parametrize(("refused", "evicted", "active"), [("OOM", 0, True), ("", 3, True), ("", 0, False)])
def test_too_little_memory_bites_where_a_write_is_refused_or_keys_are_thrown_away(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch, refused: str, evicted: int, active: bool
) -> None:
    counts = iter([10.0, 10.0 + evicted])

    def figures(_: App, section: str) -> dict[str, float]:
        return {"evicted_keys": next(counts)} if section == "stats" else {"used_memory": 2e6, "maxmemory": 1e6}

    monkeypatch.setattr(redis_server, "figures", figures)
    monkeypatch.setattr(redis_server, "refusal", lambda *_: refused)
    effect = kind_named("store_memory_too_small").active(app, Fault("store_memory_too_small", "redis", "evicts"), world)
    assert effect.confirmed == active
    assert "uses 200% of the memory that it may" in effect.figures


@pytest.mark.parametrize(
    ("waited", "active", "gone"), [(1.9, True, False), (None, True, False), (0.3, False, False), (0.01, False, True)]
)
def test_a_long_command_is_measured_by_how_long_others_wait(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch, waited: float | None, active: bool, gone: bool
) -> None:
    monkeypatch.setattr(kinds_module, "LOOKS_S", 0.01)
    monkeypatch.setattr(probe, "answers", lambda *_, seconds: waited)
    kind, fault = kind_named("slow_command"), Fault("slow_command", "redis", "hard")
    assert kind.active(app, fault, world).confirmed == active
    assert kind.cleared(app, fault, world).confirmed == gone


def test_what_is_asked_reads_like_somebodys_report() -> None:
    assert telling_words(kinds_module.SlowCommand.SCRIPT) == set()
