"""Faults of resources: a container gets less than it needs."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import CpuLimit, Engine
from fault_injection.kinds.kit_version import KitVersion
from fault_injection.mechanisms.probe import must_run
from fault_injection.spec import Change, Effect, Fault, FaultKind, Step
from fault_injection.steps import TELEMETRY_PORTS, bounds_step, cpu_step, cut_step
from revelio.errors import FaultError

PERIOD_US = 100_000
LEAST_BYTES = 8 * 2**20
"""The engine takes no limit below six."""
LEAST_FILES = 2
"""What a hard-pressed process may still open: with none at all it could not even refuse anybody."""
LEAST_PROCESSES = 9
"""The engine cannot start a container with fewer."""
SAMPLE_S = 2.0


class CpuQuota(FaultKind):
    """A CPU limit far below what the container uses."""

    name = "cpu_quota"
    category = "resource"
    mechanism = "engine_limit"
    explanation = "The container may use only a fraction of the CPU time that it needs, so its work waits for the next period."
    strengths: ClassVar = {
        "hard": {"share_of_use": 0.3, "least_cpus": 0.01},
        "moderate": {"share_of_use": 0.45, "least_cpus": 0.01},
    }

    def places(self, app: App) -> tuple[str, ...]:
        """Every service, and the database; Redis uses too little CPU to feel it."""
        return (*app.services, *(s for s in app.stores if s == "postgres"))

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Measures what the container uses now and sets a share of that."""
        must_run(fault.place, engine)
        strength = self.strengths[fault.strength]
        first = engine.cpu_usage(fault.place)
        time.sleep(SAMPLE_S)
        second = engine.cpu_usage(fault.place)
        used = (second.used_s - first.used_s) / max(second.at - first.at, 1e-6)
        cpus = max(used * float(strength["share_of_use"]), float(strength["least_cpus"]))
        before = engine.cpu_limit(fault.place)
        if before.nano_cpus:
            limit = CpuLimit(nano_cpus=int(cpus * 1e9))
        else:
            limit = CpuLimit(quota_us=max(1000, int(cpus * PERIOD_US)), period_us=PERIOD_US)
        return Change(
            do=(cpu_step(engine, fault.place, limit),),
            undo=(cpu_step(engine, fault.place, before),),
            parameters=(("cpus", round(cpus, 4)), ("used_before", round(used, 4))),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Throttled periods of the cgroup over two seconds."""
        first = engine.cpu_usage(fault.place)
        time.sleep(SAMPLE_S)
        second = engine.cpu_usage(fault.place)
        periods = second.periods - first.periods
        throttled = second.throttled_periods - first.throttled_periods
        share = throttled / periods if periods else 0.0
        return Effect(share >= 0.5, f"throttled in {throttled} of {periods} periods of {SAMPLE_S:.0f} s")


class CpuHog(FaultKind):
    """Something beside the service uses up the container's CPU time."""

    name = "cpu_hog"
    category = "resource"
    mechanism = "foreign_processes"
    burdens_host = True
    explanation = "A runaway process in the container's control group uses up the CPU time that it may have."
    # A service that hardly calculates is not held up by others that are as nice as itself: it waits its short turn, and is done.
    strengths: ClassVar = {"hard": {"processes": 6, "niceness": -20}, "moderate": {"processes": 2, "niceness": -20}}

    def places(self, app: App) -> tuple[str, ...]:
        """Every container whose CPU time is bounded."""
        return app.places

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Extra processes join the control group and calculate."""
        must_run(fault.place, engine)
        strength = tuple(self.strengths[fault.strength].items())
        container = engine.container_id(fault.place)
        start = Step("start_background", fault.place, container, (("act", "hog"), *strength))
        return Change(do=(start,), undo=(Step("stop_background", fault.place, container),), parameters=strength)

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The container uses all that it may, and is held back in most periods."""
        first = engine.cpu_usage(fault.place)
        time.sleep(SAMPLE_S)
        second = engine.cpu_usage(fault.place)
        used = (second.used_s - first.used_s) / max(second.at - first.at, 1e-6)
        periods = second.periods - first.periods
        share = (second.throttled_periods - first.throttled_periods) / periods if periods else 0.0
        return Effect(share >= 0.7, f"uses {used:.2f} CPUs, throttled in {share:.0%} of its periods")


class MemoryLimit(FaultKind):
    """A memory limit below what the container needs: the kernel ends it."""

    name = "memory_limit"
    category = "resource"
    mechanism = "engine_limit"
    explanation = (
        "The container may use less memory than it needs: the kernel kills its processes, and the engine starts it again."
    )
    strengths: ClassVar = {"hard": {"share_of_use": 0.55}, "moderate": {"share_of_use": 0.8}}
    settle_s = 20.0

    def places(self, app: App) -> tuple[str, ...]:
        """Every service; the stores use too little memory here for a limit that they could not keep."""
        return app.services

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Stop it, since no limit below the use is taken; bound it; start it."""
        must_run(fault.place, engine)
        used = engine.memory_used(fault.place)
        before = engine.bounds(fault.place)
        limit = max(LEAST_BYTES, int(used * float(self.strengths[fault.strength]["share_of_use"])))
        container = engine.container_id(fault.place)
        stop, start = Step("stop", fault.place, container), Step("start", fault.place, container)
        return Change(
            do=(stop, bounds_step(engine, fault.place, replace(before, memory_bytes=limit)), start),
            undo=(stop, bounds_step(engine, fault.place, before), start),
            parameters=(("limit_bytes", limit), ("used_before_bytes", used)),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The engine has started it again, and its limit is the low one."""
        restarts, limit = engine.restarts(fault.place), engine.bounds(fault.place).memory_bytes
        return Effect(restarts >= 1, f"limit {limit / 2**20:.0f} MiB, started again {restarts} times")


class FdExhaustion(FaultKind):
    """No file descriptor is left for another connection."""

    name = "fd_exhaustion"
    category = "resource"
    mechanism = "process_limit"
    explanation = "The process may open fewer files and connections than it needs: further ones fail."
    strengths: ClassVar = {"hard": {"share_of_connections": 0.15}, "moderate": {"share_of_connections": 0.25}}
    settle_s = 25.0

    def places(self, app: App) -> tuple[str, ...]:
        """Every service; a store's processes belong to another user, whose limits not everybody may change."""
        return app.services

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Bound it below what it has, then cut its connections once, since those that it has stay.

        A start under the limit would not do: a process that cannot start ends, and the next one has its old limit again.
        What was refused a file may never listen again, so it is restarted when all is undone.
        """
        must_run(fault.place, engine)
        before, used = engine.file_limit(fault.place), engine.open_files(fault.place)
        cut = engine.open_connections(fault.place, TELEMETRY_PORTS)
        share = float(self.strengths[fault.strength]["share_of_connections"])
        wanted = _limit_that_leaves(max(LEAST_FILES, int(len(cut) * share)), used - cut)
        container = engine.container_id(fault.place)

        def limit(soft: int) -> Step:
            return Step("limit_files", fault.place, container, (("soft", soft),))

        return Change(
            do=(limit(wanted), cut_step(engine, fault.place)),
            undo=(Step("restart", fault.place, container), limit(before)),
            parameters=(("limit", wanted), ("used_before", len(used))),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """It has all files open that it may."""
        try:
            limit, used = engine.file_limit(fault.place), engine.open_files(fault.place)
        except FaultError as error:
            return Effect(False, str(error))
        below = sum(number < limit for number in used)
        return Effect(below >= limit, f"{len(used)} files open, {limit - below} more allowed")


class PidLimit(FaultKind):
    """No further thread or process may start."""

    name = "pid_limit"
    category = "resource"
    mechanism = "engine_limit"
    explanation = "The container may have fewer processes and threads than it needs: what needs another one fails."
    strengths: ClassVar = {"hard": {"share_of_use": 0.6}, "moderate": {"share_of_use": 0.75}}
    settle_s = 25.0

    def places(self, app: App) -> tuple[str, ...]:
        """The database, which makes a process for each connection, and the services, which look names up in threads."""
        return (*app.services, *(s for s in app.stores if s == "postgres"))

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Bound it below what it has, and restart it, since what runs already stays."""
        must_run(fault.place, engine)
        before, used = engine.bounds(fault.place), engine.processes(fault.place)
        limit = max(LEAST_PROCESSES, int(used * float(self.strengths[fault.strength]["share_of_use"])))
        restart = Step("restart", fault.place, engine.container_id(fault.place))
        return Change(
            do=(bounds_step(engine, fault.place, replace(before, processes=limit)), restart),
            undo=(bounds_step(engine, fault.place, before), restart),
            parameters=(("limit", limit), ("used_before", used)),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """It was refused another process or thread."""
        limit = engine.bounds(fault.place).processes
        try:
            refused = engine.refused_processes(fault.place)
        except FaultError as error:
            again = engine.restarts(fault.place)
            return Effect(limit > 0 and again > 0, f"{limit} processes and threads allowed; {error}, started again {again} times")
        return Effect(limit > 0 and refused > 0, f"{limit} processes and threads allowed, {refused} times refused one more")


class ThreadLeak(KitVersion):
    """Every request leaves threads behind."""

    name = "thread_leak"
    category = "resource"
    burdens_host = True
    explanation = "A new version of the service starts threads with every request, which watch for something and never end."
    strengths: ClassVar = {"fast": {"threads": 16}, "slow": {"threads": 10}}
    file = "/app/kit/service.py"
    function = "Observed.__call__"
    statements = """
    if scope["type"] == "http" and scope["path"] not in _UNSEEN:
        import threading

        for _ in range({threads}):
            watch = lambda: any(time.sleep(0.002) for _ in iter(int, 1))
            threading.Thread(target=watch, daemon=True).start()
    """
    MANY = 60
    """Threads; a service has a dozen."""

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that is asked something."""
        return tuple(service for service in app.services if service not in app.workers)

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Threads that it has."""
        try:
            threads = engine.processes(fault.place)
        except FaultError as error:
            return Effect(False, str(error))
        return Effect(threads >= self.MANY, f"{threads} threads")


def _limit_that_leaves(free: int, kept: frozenset[int]) -> int:
    """The limit under which so many more may be opened: it bounds a file's number, and the lowest free one is given out."""
    limit = 0
    while free:
        free -= limit not in kept
        limit += 1
    return limit
