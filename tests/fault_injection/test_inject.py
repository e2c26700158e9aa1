"""A fault is undone whatever happens, and nothing is done before the journal knows how to undo it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import fault_injection.inject as inject_module
from fault_injection.apps import App, app_named
from fault_injection.engine import CpuLimit
from fault_injection.inject import inject, injected, open_faults, undo
from fault_injection.journal import Journal
from fault_injection.kinds import resource
from fault_injection.spec import Fault, Step
from revelio.errors import FaultError
from tests.fault_injection.fake_engine import FakeEngine, Killed

QUOTA = Fault("cpu_quota", "cart", "hard")
FORMER = CpuLimit(nano_cpus=500_000_000)


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path)


@pytest.fixture
def engine(app: App) -> FakeEngine:
    return FakeEngine(*app.places)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(resource, "SAMPLE_S", 0.02)
    monkeypatch.setattr(resource.CpuQuota, "settle_s", 0.1)
    monkeypatch.setattr(inject_module, "RECOVERY_S", 0.1)
    monkeypatch.setattr(inject_module, "answers", lambda app, place, engine, seconds: 0.01)
    yield


def events(app: App) -> list[str]:
    return [entry["event"] for entry in Journal(app.state).entries()]


def test_injecting_puts_the_fault_in_force_and_undoing_restores_the_former_figures(app: App, engine: FakeEngine) -> None:
    injection = inject(app, QUOTA, engine)
    assert engine.limits["cart"].nano_cpus < FORMER.nano_cpus
    assert "throttled in" in injection.verified_by
    assert open_faults(app) == (QUOTA,)
    undo(app, engine)
    assert engine.limits["cart"] == FORMER
    assert open_faults(app) == ()
    assert events(app) == ["planned", "injected", "verified", "undoing", "undone", "recovered"]


def test_undo_steps_are_on_disk_before_the_first_act(app: App, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    original = engine.set_cpu_limit

    def watched(service: str, limit: CpuLimit) -> None:
        seen.append(events(app))
        original(service, limit)

    monkeypatch.setattr(engine, "set_cpu_limit", watched)
    inject(app, QUOTA, engine)
    assert seen == [["planned"]]


def test_a_fault_that_does_not_bite_is_an_error_and_is_undone(app: App, engine: FakeEngine) -> None:
    engine.throttled_share = 0.0
    with pytest.raises(FaultError, match="cpu_quota at cart is not active: throttled in 0 of"):
        inject(app, QUOTA, engine)
    assert engine.limits["cart"] == FORMER
    assert open_faults(app) == ()


def test_ctrl_c_while_verifying_undoes_the_fault(app: App, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(resource.CpuQuota, "active", interrupted)
    with pytest.raises(KeyboardInterrupt):
        inject(app, QUOTA, engine)
    assert engine.limits["cart"] == FORMER


@pytest.mark.parametrize("written", range(1, 7))
def test_a_journal_cut_after_any_line_lets_the_next_command_clean_up(app: App, engine: FakeEngine, written: int) -> None:
    inject(app, QUOTA, engine)
    weakened = engine.limits["cart"]
    undo(app, engine)
    lines = (app.state / "journal.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 6
    (app.state / "journal.jsonl").write_bytes(b"".join(lines[:written]))
    undone = written >= 5
    engine.limits["cart"] = FORMER if undone else weakened
    assert len(undo(app, engine)) == (0 if undone else 1)
    assert engine.limits["cart"] == FORMER


def test_a_torn_last_line_is_as_good_as_unwritten(app: App, engine: FakeEngine) -> None:
    inject(app, QUOTA, engine)
    path = app.state / "journal.jsonl"
    with path.open("ab") as file:
        file.write(b'{"event": "undone", "id"')
    undo(app, engine)
    assert engine.limits["cart"] == FORMER
    assert [json.loads(line)["event"] for line in path.read_text().splitlines()][-1] == "recovered"


def test_a_process_that_dies_in_the_act_leaves_what_undo_needs(
    app: App, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.die_after = 0
    with monkeypatch.context() as dead:
        dead.setattr(inject_module, "_undo_all", lambda *_: ())
        with pytest.raises(Killed):
            inject(app, QUOTA, engine)
    assert engine.limits["cart"] != FORMER
    engine.die_after = None
    inject(app, Fault("container_pause", "redis", "whole"), _hanging(engine, monkeypatch))
    assert engine.limits["cart"] == FORMER
    assert [f.kind for f in open_faults(app)] == ["container_pause"]


def _hanging(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    monkeypatch.setattr("fault_injection.kinds.component.answers", lambda app, place, engine, seconds: None)
    return engine


def test_an_undo_that_fails_keeps_the_fault_open_for_another_try(app: App, engine: FakeEngine) -> None:
    inject(app, QUOTA, engine)
    engine.refuse = "limit"
    with pytest.raises(FaultError, match="undoing failed: cpu_quota at cart: engine refused"):
        undo(app, engine)
    assert open_faults(app) == (QUOTA,)
    engine.refuse = ""
    undo(app, engine)
    assert open_faults(app) == ()


def test_undoing_a_container_that_was_replaced_is_moot(app: App, engine: FakeEngine) -> None:
    inject(app, QUOTA, engine)
    engine.ids["cart"] = "another"
    engine.limits["cart"] = CpuLimit(nano_cpus=700_000_000)
    (undone,) = undo(app, engine)
    assert undone.notes == ("cart was replaced",)
    assert engine.limits["cart"].nano_cpus == 700_000_000


def test_a_second_fault_keeps_the_first_one_and_both_are_undone_the_latest_first(app: App, engine: FakeEngine) -> None:
    beside = replace(QUOTA, place="users")
    inject(app, QUOTA, engine)
    inject(app, beside, engine, keep=True)
    assert open_faults(app) == (beside, QUOTA)
    assert FORMER not in (engine.limits["cart"], engine.limits["users"])
    assert [undone.fault for undone in undo(app, engine)] == [beside, QUOTA]
    assert engine.limits["cart"] == engine.limits["users"] == FORMER


def test_a_second_fault_that_does_not_bite_takes_the_first_one_with_it(app: App, engine: FakeEngine) -> None:
    inject(app, QUOTA, engine)
    engine.throttled_share = 0.0
    with pytest.raises(FaultError, match="cpu_quota at users is not active"):
        inject(app, replace(QUOTA, place="users"), engine, keep=True)
    assert engine.limits["cart"] == FORMER
    assert open_faults(app) == ()


def test_a_block_that_fails_leaves_nothing_in_force(app: App, engine: FakeEngine) -> None:
    with pytest.raises(ZeroDivisionError), injected(app, QUOTA, engine):
        assert engine.limits["cart"] != FORMER
        raise ZeroDivisionError
    assert engine.limits["cart"] == FORMER


def test_two_commands_do_not_inject_at_once(app: App, engine: FakeEngine) -> None:
    with Journal(app.state).alone(), pytest.raises(FaultError, match="another command is injecting"):
        inject(app, QUOTA, engine)


def test_a_damaged_line_in_the_middle_is_refused_with_its_number(app: App, engine: FakeEngine) -> None:
    inject(app, QUOTA, engine)
    path = app.state / "journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"garbage\n" + lines[1])
    with pytest.raises(FaultError, match=r"journal\.jsonl:2: damaged"):
        undo(app, engine)


def test_a_background_fault_goes_on_until_somebody_begins_to_undo_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert not journal.wanted("a1")
    journal.planned("a1", QUOTA, (Step("unpause", "cart", "id"),))
    journal.note("a1", "injected")
    assert journal.wanted("a1")
    journal.note("a1", "undoing")
    journal.note("a1", "failed", "engine away")
    assert not journal.wanted("a1")
    assert [f.fault for f in journal.open_faults()] == [QUOTA]


def test_a_moderate_limit_is_milder_than_a_hard_one(app: App, engine: FakeEngine) -> None:
    hard = inject(app, QUOTA, engine)
    undo(app, engine)
    moderate = inject(app, replace(QUOTA, strength="moderate"), engine)
    assert dict(hard.parameters)["cpus"] < dict(moderate.parameters)["cpus"]  # type: ignore[operator]
