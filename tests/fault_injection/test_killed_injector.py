"""Whatever the fault and wherever its injector is killed, the journal knows how to undo it: tried for every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

import fault_injection.inject as inject_module
from fault_injection import steps
from fault_injection.apps import App, app_named
from fault_injection.inject import inject, open_faults, undo
from fault_injection.kinds import kind_named, kinds, network, network_buffers, resource
from fault_injection.kinds.configuration import Misconfigured
from fault_injection.mechanisms import database, redis_server, small_disk
from fault_injection.spec import Effect, Fault
from tests.fault_injection.fake_engine import Killed
from tests.fault_injection.world import World

IN_MEMORY_ONLY = {"clock_skew": "it writes a process' own memory: tests/fault_injection/kinds/test_clock_kinds.py"}
"""Kinds that cannot be tried on an application in memory, with where they are tried."""
SHOP = app_named("shop", Path("unused"))
FAULTS = [
    Fault(kind.name, kind.places(SHOP)[0], strength)
    for kind in kinds()
    if kind.name not in ("none", *IN_MEMORY_ONLY)
    for strength in kind.strengths
]


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path / "state")


@pytest.fixture
def world(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(app, tmp_path)
    monkeypatch.setattr(steps, "reconfigure", made.reconfigure)
    monkeypatch.setattr(steps, "_start_background", made.start_background)
    monkeypatch.setattr(steps, "wait_until_gone", made.stop_background)
    monkeypatch.setattr(database, "carry_out", made.carry_out)
    monkeypatch.setattr(database, "ask", made.ask)
    for name in ("settings", "figures", "configure"):
        monkeypatch.setattr(redis_server, name, getattr(made, f"redis_{name}"))
    for act in ("carry_over", "fill", "carry_back"):
        monkeypatch.setattr(small_disk, act, getattr(made, act))
    for module in (resource, network, network_buffers):
        monkeypatch.setattr(module, "SAMPLE_S", 0.01)
    monkeypatch.setattr(inject_module, "RECOVERY_S", 0.1)
    monkeypatch.setattr(inject_module, "answers", lambda app, place, engine, seconds: 0.01)
    return made


def _named(fault: Fault) -> str:
    return f"{fault.kind}-{fault.place}-{fault.strength}"


@pytest.mark.parametrize("fault", FAULTS, ids=_named)
def test_killed_at_any_act_it_leaves_a_journal_from_which_all_is_undone(
    app: App, world: World, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = kind_named(fault.kind)

    def killed(*_: object) -> Effect:
        raise Killed

    def nothing_left(*_: object) -> Effect:
        return Effect(True, "")

    monkeypatch.setattr(type(kind), "active", killed)
    monkeypatch.setattr(type(kind), "cleared", nothing_left)
    kind.change(app, fault, world)  # so that every file that it reads has been read
    before = world.standing()
    act, verifying = 0, False
    while not verifying:
        began = len(world.acts)
        world.die_after = began + act
        with monkeypatch.context() as dead:
            dead.setattr(inject_module, "_undo_all", lambda *_: ())
            with pytest.raises(Killed):
                inject(app, fault, world)
        verifying = len(world.acts) - began <= act
        world.die_after = None
        assert open_faults(app) == (fault,)
        (undone,) = undo(app, world)
        assert undone.notes == ()
        assert world.standing() == before
        assert open_faults(app) == ()
        act += 1
    # Either something was done at which it could be killed, or all that was done is written to a file.
    assert act > 1 or fault.kind in ("slow_disk_on_db", "disk_slow")


def test_killed_while_a_second_fault_is_made_it_leaves_a_journal_from_which_both_are_undone(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Fault("container_pause", "cart", "intermittent"), Fault("fd_exhaustion", "users", "hard")
    for fault in (first, second):
        kind_named(fault.kind).change(app, fault, world)
        monkeypatch.setattr(type(kind_named(fault.kind)), "active", lambda *_: Effect(True, ""))
    before = world.standing()
    for act in range(2):
        inject(app, first, world)
        world.die_after = len(world.acts) + act
        with monkeypatch.context() as dead, pytest.raises(Killed):
            dead.setattr(inject_module, "_undo_all", lambda *_: ())
            dead.setattr(type(kind_named(second.kind)), "active", _dies)
            inject(app, second, world, keep=True)
        world.die_after = None
        assert open_faults(app) == (second, first)
        assert [undone.fault for undone in undo(app, world)] == [second, first]
        assert world.standing() == before


def _dies(*_: object) -> Effect:
    raise Killed


def test_every_kind_that_is_not_tried_here_is_excused() -> None:
    assert set(IN_MEMORY_ONLY) < {kind.name for kind in kinds()}
    assert {fault.kind for fault in FAULTS} | set(IN_MEMORY_ONLY) | {"none"} == {kind.name for kind in kinds()}


def test_a_rolled_out_setting_is_undone_on_the_container_that_has_replaced_the_first(app: App, world: World) -> None:
    fault = Fault("pool_too_small", "products", "one")
    inject(app, fault, world)
    world.ids["products"] = "another"
    (undone,) = undo(app, world)
    assert undone.notes == ()
    assert world.environments["products"] == world.original
    assert isinstance(kind_named(fault.kind), Misconfigured)
