"""A container that does not run as it should: verified by the engine's word and by whether it answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from fault_injection.apps import App, app_named
from fault_injection.kinds import component, kind_named, validate
from fault_injection.kinds.component import ContainerKill, CrashLoop
from fault_injection.mechanisms.patch import insert
from fault_injection.spec import Fault
from revelio.errors import FaultError
from testbed.stack import applications
from tests.fault_injection.traces import telling_words
from tests.fault_injection.world import World


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path / "state")


@pytest.fixture
def world(app: App, tmp_path: Path) -> World:
    return World(app, tmp_path)


def test_a_workers_end_is_a_kind_of_its_own(app: App) -> None:
    with pytest.raises(FaultError, match=r"'notifier' of shop; possible places: gateway, "):
        validate(app, Fault("container_stop", "notifier", "whole"))
    with pytest.raises(FaultError, match=r"'cart' of shop; possible places: notifier$"):
        validate(app, Fault("worker_stopped", "cart", "whole"))


@pytest.mark.parametrize("kind", ["container_stop", "worker_stopped", "container_kill", "crash_loop", "container_pause"])
def test_what_does_not_run_is_not_stopped_again(app: App, world: World, kind: str) -> None:
    place = kind_named(kind).places(app)[0]
    world.states[place] = "paused"
    with pytest.raises(FaultError, match=f"{place} is paused, not running"):
        kind_named(kind).change(app, Fault(kind, place, next(iter(kind_named(kind).strengths))), world)


@pytest.mark.parametrize(("state", "active"), [("exited", True), ("running", False), ("restarting", False)])
def test_a_stopped_container_is_one_that_has_exited(app: App, world: World, state: str, active: bool) -> None:
    world.states["cart"] = state
    assert kind_named("container_stop").active(app, Fault("container_stop", "cart", "whole"), world).confirmed == active


def test_a_kill_is_verified_by_another_start(app: App, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ContainerKill, "strengths", {"often": {"every_s": -1.9}})
    fault = Fault("container_kill", "cart", "often")
    assert not ContainerKill().active(app, fault, world).confirmed
    counts = iter([3, 4, 4])
    world.restarts = lambda service: next(counts)  # type: ignore[method-assign]
    assert ContainerKill().active(app, fault, world).confirmed


@pytest.mark.parametrize(("restarts", "answered", "active"), [(1, None, True), (0, None, False), (2, 0.01, False)])
def test_a_crash_loop_does_not_answer_and_is_started_again(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch, restarts: int, answered: float | None, active: bool
) -> None:
    world.restart_count = restarts
    monkeypatch.setattr(component, "answers", lambda *_, **__: answered)
    assert CrashLoop().active(app, Fault("crash_loop", "cart", "whole"), world).confirmed == active


@pytest.mark.parametrize("app_name", applications())
@pytest.mark.parametrize("line", CrashLoop.FIRST_LINES)
def test_a_version_that_cannot_start_reads_like_an_ordinary_one(app_name: str, line: str) -> None:
    app = app_named(app_name, Path("unused"))
    assert telling_words(line) == set()
    for service in app.services:
        path = app.main_file(service)
        source = (Path("testbed") / path.removeprefix("/app/")).read_text()
        assert line in insert(source, "make", line, where=path)


def test_a_version_that_cannot_start_is_rolled_out_under_a_new_number_and_taken_back(app: App, world: World) -> None:
    change = CrashLoop().change(app, Fault("crash_loop", "cart", "whole"), world)
    (do,), (undo,) = change.do, change.undo
    assert do.argument("files") != undo.argument("files")
    assert "VERSION" in str(do.argument("files")) and "cart.py" in str(do.argument("files"))
