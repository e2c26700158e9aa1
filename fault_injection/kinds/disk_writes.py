"""Limits on what a container may write to a disk, in the words of whichever version of control groups the host has."""

from __future__ import annotations

from fault_injection.engine import Engine
from fault_injection.spec import Step
from fault_injection.steps import cgroup_step
from revelio.errors import FaultError

_FIRST = "blkio.throttle.write_iops_device"
_SECOND = "io.max"


def slow_writes(engine: Engine, service: str, path: str, per_second: int) -> tuple[Step, Step]:
    """The step that lets the container write to the disk of ``path`` so often a second, and the one that lets it again.

    Raises ``FaultError`` where the disk or the limit is missing.
    """
    disk = engine.disk(service, path)
    try:
        engine.cgroup_file(service, "blkio", _FIRST)
    except FaultError:
        engine.cgroup_file(service, "io", _SECOND)
        return tuple(cgroup_step(engine, service, "io", _SECOND, f"{disk} wiops={n}") for n in (per_second, "max"))  # type: ignore[return-value]
    return tuple(cgroup_step(engine, service, "blkio", _FIRST, f"{disk} {n}") for n in (per_second, 0))  # type: ignore[return-value]
