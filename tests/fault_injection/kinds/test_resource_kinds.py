"""Faults of resources take what a container needs, measured by what it used, and are verified where an operator would look."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import threading
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from fault_injection.apps import App, app_named
from fault_injection.engine import Bounds, CpuUsage
from fault_injection.kinds import disk as disk_module
from fault_injection.kinds import kind_named, resource, validate
from fault_injection.kinds.disk import DiskFull, DiskSlow
from fault_injection.kinds.disk_writes import slow_writes
from fault_injection.kinds.resource import LEAST_BYTES, LEAST_FILES, LEAST_PROCESSES
from fault_injection.mechanisms import database, probe, redis_server
from fault_injection.mechanisms.background import use_up
from fault_injection.spec import Fault
from revelio.errors import FaultError
from tests.fault_injection.world import World


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path / "state")


@pytest.fixture
def world(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(resource, "SAMPLE_S", 0.01)
    monkeypatch.setattr(probe, "EVERY_S", 0.0)
    monkeypatch.setattr(disk_module, "LOOKS_S", 0.05)
    return World(app, tmp_path)


@pytest.mark.parametrize(
    ("kind", "figure", "least"),
    [
        ("memory_limit", "limit_bytes", LEAST_BYTES),
        ("fd_exhaustion", "limit", 14 + LEAST_FILES),
        ("pid_limit", "limit", LEAST_PROCESSES),
    ],
)
def test_a_limit_lies_below_what_is_used_and_lower_the_harder_it_is(
    app: App, world: World, kind: str, figure: str, least: int
) -> None:
    world.processes = lambda service: 40  # type: ignore[method-assign]
    found = {}
    for strength in ("hard", "moderate"):
        parameters = dict(kind_named(kind).change(app, Fault(kind, "cart", strength), world).parameters)
        used = next(value for name, value in parameters.items() if name.startswith("used_before"))
        found[strength] = int(parameters[figure])
        assert found[strength] < int(used)
    assert least <= found["hard"] < found["moderate"]


def test_no_limit_on_processes_is_so_low_that_nothing_could_start(app: App, world: World) -> None:
    world.processes = lambda service: 3  # type: ignore[method-assign]
    parameters = dict(kind_named("pid_limit").change(app, Fault("pid_limit", "cart", "hard"), world).parameters)
    assert parameters["limit"] == LEAST_PROCESSES


@pytest.mark.parametrize(
    ("open_files", "connections", "limit"),
    [
        (range(40), range(14, 40), 17),  # three of 26 connections may come back above the 14 files that stay
        ((*range(6), 30, 31), (3, 30, 31), 7),  # a limit bounds numbers: 3 and 6 are free below it, and the file 5 stays
        (range(3), (), 3 + LEAST_FILES),
    ],
)
def test_a_limit_on_files_leaves_room_for_a_few_of_the_connections_that_are_cut(
    app: App, world: World, open_files: Iterable[int], connections: Iterable[int], limit: int
) -> None:
    world.open_files = lambda service: frozenset(open_files)  # type: ignore[method-assign]
    world.open_connections = lambda service, spared=(): frozenset(connections)  # type: ignore[method-assign]
    change = kind_named("fd_exhaustion").change(app, Fault("fd_exhaustion", "cart", "hard"), world)
    assert dict(change.parameters)["limit"] == limit


def test_a_process_is_bounded_while_it_runs_since_a_start_under_the_limit_would_end_it(app: App, world: World) -> None:
    change = kind_named("fd_exhaustion").change(app, Fault("fd_exhaustion", "cart", "hard"), world)
    assert [step.action for step in change.do] == ["limit_files", "in_network"]
    assert "dport = :4317" in str(change.do[1].argument("command"))
    assert [step.action for step in change.undo] == ["restart", "limit_files"]


@pytest.mark.parametrize("kind", ["cpu_hog", "memory_limit", "fd_exhaustion", "pid_limit", "cpu_quota", "disk_full", "disk_slow"])
def test_what_does_not_run_is_not_weakened(app: App, world: World, kind: str) -> None:
    place = kind_named(kind).places(app)[0]
    world.states[place] = "exited"
    with pytest.raises(FaultError, match=f"{place} is exited, not running"):
        kind_named(kind).change(app, Fault(kind, place, next(iter(kind_named(kind).strengths))), world)


def test_limits_are_verified_by_what_the_kernel_refused(app: App, world: World) -> None:
    fault = Fault("pid_limit", "cart", "hard")
    assert not kind_named("pid_limit").active(app, fault, world).confirmed
    world.bounded["cart"] = Bounds(0, 9)
    assert kind_named("pid_limit").active(app, fault, world).confirmed
    files = Fault("fd_exhaustion", "cart", "hard")
    assert not kind_named("fd_exhaustion").active(app, files, world).confirmed
    world.file_limits["cart"] = 41
    assert kind_named("fd_exhaustion").active(app, files, world).figures == "40 files open, 1 more allowed"
    world.file_limits["cart"] = 20
    assert kind_named("fd_exhaustion").active(app, files, world).confirmed


def test_memory_that_ran_out_shows_in_restarts_by_the_engine(app: App, world: World) -> None:
    fault = Fault("memory_limit", "cart", "hard")
    assert not kind_named("memory_limit").active(app, fault, world).confirmed
    world.restart_count = 1
    assert kind_named("memory_limit").active(app, fault, world).confirmed


@pytest.mark.parametrize(("throttled", "active"), [(0.9, True), (0.2, False)])
def test_runaway_work_shows_in_throttled_periods(app: App, world: World, throttled: float, active: bool) -> None:
    usages = iter([CpuUsage(10.0, 1.0, 100, 0), CpuUsage(12.0, 2.0, 120, int(20 * throttled))])
    world.cpu_usage = lambda service: next(usages)  # type: ignore[method-assign]
    assert kind_named("cpu_hog").active(app, Fault("cpu_hog", "cart", "hard"), world).confirmed == active


def test_runaway_work_joins_every_group_and_ends_when_it_is_not_wanted(tmp_path: Path) -> None:
    groups = [tmp_path / "cpu", tmp_path / "cpuacct"]
    going = threading.Event()
    worker = threading.Thread(target=use_up, args=(groups, 2, 5, lambda: not going.is_set()))
    worker.start()
    deadline = time.monotonic() + 20
    while not all(group.exists() and group.read_text() for group in groups) and time.monotonic() < deadline:
        time.sleep(0.05)
    joined = {int(group.read_text()) for group in groups}
    while ours := {file.name for pid in joined for file in Path(f"/proc/{pid}/fd").iterdir()} - {"0", "1", "2"}:
        assert time.monotonic() < deadline, f"open files of ours would be counted as the container's: {ours}"
    going.set()
    worker.join(20)
    assert os.getpid() not in joined
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("controller", "name", "slow", "free"),
    [("blkio", "blkio.throttle.write_iops_device", "8:0 5", "8:0 0"), ("io", "io.max", "8:0 wiops=5", "8:0 wiops=max")],
)
def test_a_disk_is_slowed_by_whichever_control_group_the_kernel_has(
    app: App, tmp_path: Path, controller: str, name: str, slow: str, free: str
) -> None:
    class Kernel(World):
        def cgroup_file(self, service: str, controller_: str, name_: str) -> Path:
            if (controller_, name_) != (controller, name):
                raise FaultError("no such controller")
            return tmp_path / name_

    do, undo = slow_writes(Kernel(app, tmp_path), "redis", "/data", 5)
    assert (do.argument("controller"), do.argument("name"), do.argument("text")) == (controller, name, slow)
    assert undo.argument("text") == free


def test_the_databases_disk_is_a_kind_of_its_own(app: App) -> None:
    with pytest.raises(FaultError, match=r"'postgres' of shop; possible places: redis$"):
        validate(app, Fault("disk_slow", "postgres", "hard"))
    with pytest.raises(FaultError, match=r"'redis' of shop; possible places: postgres$"):
        validate(app, Fault("slow_disk_on_db", "redis", "hard"))


@pytest.mark.parametrize(
    ("waits", "active", "gone"), [((0.01, 0.4), True, False), ((0.01, None), True, False), ((0.01, 0.02), False, True)]
)
def test_a_slow_disk_shows_in_the_longest_wait(
    app: App,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    waits: tuple[float | None, ...],
    active: bool,
    gone: bool,
) -> None:
    looks = itertools.chain(waits, itertools.repeat(0.01))
    monkeypatch.setattr(probe, "answers", lambda *_, **__: next(looks))
    fault = Fault("disk_slow", "redis", "hard")
    assert DiskSlow().active(app, fault, world).confirmed == active
    looks = itertools.chain(waits, itertools.repeat(0.01))
    assert DiskSlow().cleared(app, fault, world).confirmed == gone


@pytest.mark.parametrize(
    ("said", "active"),
    [
        (b"+OK\r\n", False),
        (b"-MISCONF Errors writing to the AOF file: No space left on device\r\n", True),
        (b"", True),
        (b"-LOADING\r\n", False),
    ],
)
def test_a_full_disk_counts_once_the_store_refuses_to_write(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch, said: bytes, active: bool
) -> None:
    monkeypatch.setattr(disk_module, "is_full", lambda _: True)
    monkeypatch.setattr(redis_server, "reply", lambda *_, **__: said)
    fault = Fault("disk_full", "redis", "whole")
    assert DiskFull().active(app, fault, world).confirmed == active
    assert DiskFull().cleared(app, fault, world).confirmed == (said == b"+OK\r\n")


def test_a_database_without_space_says_so(app: App, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = Fault("disk_full", "postgres", "whole")
    monkeypatch.setattr(disk_module, "is_full", lambda _: True)
    monkeypatch.setattr(database, "take_space", lambda _: None)
    assert not DiskFull().active(app, fault, world).confirmed

    def refused(_: App) -> None:
        raise FaultError("No space left on device")

    monkeypatch.setattr(database, "take_space", refused)
    effect = DiskFull().active(app, fault, world)
    assert effect.confirmed
    assert "No space left on device" in effect.figures


def test_a_store_keeps_its_data_with_it_whichever_container_it_has(app: App, world: World) -> None:
    change = DiskFull().change(app, Fault("disk_full", "redis", "whole"), world)
    assert [step.action for step in change.do] == ["stop", "carry_over_disk", "fill_disk", "start"]
    assert [step.action for step in change.undo] == ["stop", "carry_back_disk", "start"]
    assert {step.container for step in (*change.do, *change.undo)} == {""}
