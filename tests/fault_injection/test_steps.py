"""Each kind of step does what it says, and undoing one that has nothing to undo is no error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fault_injection import steps
from fault_injection.apps import app_named
from fault_injection.engine import Bounds
from fault_injection.journal import Journal
from fault_injection.spec import Step
from fault_injection.steps import bounds_step, cgroup_step, configure_step, network_step, perform, revert
from revelio.errors import FaultError
from testbed.errors import StackError
from testbed.stack import Project
from tests.fault_injection.fake_engine import FakeEngine

APP = app_named("shop", Path("unused"))


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine(*APP.places)


@pytest.fixture
def do(engine: FakeEngine, tmp_path: Path) -> Callable[[Step], None]:
    return lambda step: perform(step, APP, engine, Journal(tmp_path), "f1")


def test_limits_are_set(engine: FakeEngine, do: Callable[[Step], None]) -> None:
    do(bounds_step(engine, "cart", Bounds(90 * 2**20, 12)))
    assert engine.bounds("cart") == Bounds(90 * 2**20, 12)


def test_a_control_groups_file_is_written(engine: FakeEngine, do: Callable[[Step], None], tmp_path: Path) -> None:
    engine.cgroup = tmp_path
    do(cgroup_step(engine, "postgres", "blkio", "throttle", "8:0 1048576"))
    assert (tmp_path / "postgres.blkio.throttle").read_text() == "8:0 1048576"
    engine.cgroup = tmp_path / "not there"
    with pytest.raises(FaultError, match="throttle of postgres does not take '1'"):
        do(cgroup_step(engine, "postgres", "blkio", "throttle", "1"))


@pytest.mark.parametrize("undoes", [True, False])
def test_what_is_gone_from_a_network_need_not_be_taken_out(engine: FakeEngine, do: Callable[[Step], None], undoes: bool) -> None:
    engine.refuse = "net"
    step = network_step(engine, "cart", "tc", "qdisc", "del", "dev", "eth0", "root", undoes=undoes)
    if undoes:
        do(step)
    else:
        with pytest.raises(FaultError):
            do(step)


@pytest.fixture
def rollouts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, str]]]:
    made: list[tuple[str, dict[str, str]]] = []

    def roll_out(project: Project, service: str, changed: dict[str, str]) -> None:
        if service == "redis":
            raise StackError("no such image")
        made.append((service, changed))

    monkeypatch.setattr(steps, "reconfigure", roll_out)
    return made


def test_a_configuration_is_rolled_out_and_back_whatever_container_is_there(
    engine: FakeEngine, do: Callable[[Step], None], rollouts: list[Any], tmp_path: Path
) -> None:
    do(configure_step("cart", {"CACHE_SECONDS": "0"}))
    engine.ids["cart"] = "another"
    assert revert(configure_step("cart", {}), APP, engine, Journal(tmp_path), "f1") == ""
    assert rollouts == [("cart", {"CACHE_SECONDS": "0"}), ("cart", {})]


def test_a_rollout_that_fails_is_a_fault_error(do: Callable[[Step], None], rollouts: list[Any]) -> None:
    with pytest.raises(FaultError, match="no such image"):
        do(configure_step("redis", {}))


def test_a_step_on_a_container_that_was_replaced_is_not_done(engine: FakeEngine, do: Callable[[Step], None]) -> None:
    step = bounds_step(engine, "cart", Bounds())
    engine.ids["cart"] = "another"
    with pytest.raises(FaultError, match="replaced meanwhile"):
        do(step)
