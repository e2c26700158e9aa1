"""Faults of resources: a container gets less than it needs."""

from __future__ import annotations

import time
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import CpuLimit, Engine
from fault_injection.spec import Change, Effect, Fault, FaultKind
from fault_injection.steps import cpu_step
from revelio.errors import FaultError

PERIOD_US = 100_000
SAMPLE_S = 2.0


class CpuQuota(FaultKind):
    """A CPU limit far below what the container uses."""

    name = "cpu_quota"
    category = "resource"
    explanation = "The container may use only a fraction of the CPU time that it needs, so its work waits for the next period."
    strengths: ClassVar = {
        "hard": {"share_of_use": 0.35, "least_cpus": 0.01},
        "moderate": {"share_of_use": 0.6, "least_cpus": 0.013},
    }

    def places(self, app: App) -> tuple[str, ...]:
        """Every service, and the database; Redis uses too little CPU to feel it."""
        return (*app.services, *(s for s in app.stores if s == "postgres"))

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Measures what the container uses now and sets a share of that."""
        if engine.state(fault.place) != "running":
            raise FaultError(f"{fault.place} is {engine.state(fault.place)}, not running; bring the stack up first")
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

    def measure(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Throttled periods of the cgroup over two seconds."""
        first = engine.cpu_usage(fault.place)
        time.sleep(SAMPLE_S)
        second = engine.cpu_usage(fault.place)
        periods = second.periods - first.periods
        throttled = second.throttled_periods - first.throttled_periods
        share = throttled / periods if periods else 0.0
        return Effect(share >= 0.5, f"throttled in {throttled} of {periods} periods of {SAMPLE_S:.0f} s")


KINDS: tuple[FaultKind, ...] = (CpuQuota(),)
