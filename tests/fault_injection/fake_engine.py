"""A container engine in memory that can be told to fail or to die at a given act."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path

from fault_injection.engine import Bounds, CpuLimit, CpuUsage, StoredFile
from revelio.errors import FaultError


class Killed(BaseException):
    """The process ends here and now: nothing after it is run by a real kill -9, so tests stop using that process' objects."""


class FakeEngine:
    """Keeps what was done to each service. ``die_after`` acts, ``Killed`` is raised."""

    def __init__(self, *services: str) -> None:
        self.states = dict.fromkeys(services, "running")
        self.limits = dict.fromkeys(services, CpuLimit(nano_cpus=500_000_000))
        self.files: dict[tuple[str, str], StoredFile] = {}
        self.ids = {s: f"id-{s}" for s in services}
        self.acts: list[str] = []
        self.restart_count = 0
        self.paused_at: dict[str, float] = {}
        self.bounded = {s: Bounds(256 * 2**20, 0) for s in services}
        self.environments: dict[str, dict[str, str]] = {s: {} for s in services}
        self.said = ""
        self.file_limits: dict[str, int] = {}
        self.cgroup = Path("/nowhere")
        self.die_after: int | None = None
        self.refuse: str = ""
        self.throttled_share = 0.9

    def _act(self, name: str) -> None:
        if self.refuse and name.startswith(self.refuse):
            raise FaultError(f"engine refused {name}")
        self.acts.append(name)
        if self.die_after is not None and len(self.acts) > self.die_after:
            raise Killed

    def container_id(self, service: str) -> str:
        if service not in self.ids:
            raise FaultError(f"no container of {service!r}")
        return self.ids[service]

    def state(self, service: str) -> str:
        return self.states[service]

    def address(self, service: str) -> str:
        return "127.0.0.1"

    def cpu_limit(self, service: str) -> CpuLimit:
        return self.limits[service]

    def set_cpu_limit(self, service: str, limit: CpuLimit) -> None:
        self.limits[service] = limit
        self._act(f"limit {service}")

    def cpu_usage(self, service: str) -> CpuUsage:
        periods = int(time.monotonic() * 1000)
        return CpuUsage(time.monotonic(), time.monotonic() * 0.2, periods, int(periods * self.throttled_share))

    def pause(self, service: str) -> None:
        self.states[service] = "paused"
        self.paused_at[service] = time.time()
        self._act(f"pause {service}")

    def unpause(self, service: str) -> None:
        self.states[service] = "running"
        self._act(f"unpause {service}")

    def read_file(self, service: str, path: str) -> StoredFile:
        if (service, path) not in self.files:
            raise FaultError(f"{service} has no file {path}")
        return self.files[service, path]

    def write_files(self, service: str, files: dict[str, StoredFile]) -> None:
        self.files.update({(service, path): file for path, file in files.items()})
        self._act(f"write {service}")

    def restart(self, service: str) -> None:
        self.states[service] = "running"
        self.restart_count += 1
        self._act(f"restart {service}")

    def stop(self, service: str) -> None:
        self.states[service] = "exited"
        self._act(f"stop {service}")

    def start(self, service: str) -> None:
        self.states[service] = "running"
        self._act(f"start {service}")

    def kill(self, service: str, signal: str) -> None:
        self.states[service] = "exited"
        self._act(f"kill {service} {signal}")

    def restarts(self, service: str) -> int:
        return self.restart_count

    def pid(self, service: str) -> int:
        return 1

    def bounds(self, service: str) -> Bounds:
        return self.bounded[service]

    def set_bounds(self, service: str, bounds: Bounds) -> None:
        self.bounded[service] = bounds
        self._act(f"bound {service}")

    def environment(self, service: str) -> dict[str, str]:
        return self.environments[service]

    def log(self, service: str) -> str:
        return self.said

    def in_network(self, service: str, *command: str) -> str:
        self._act(f"net {service} {' '.join(command)}")
        return self.said

    def cgroup_file(self, service: str, controller: str, name: str) -> Path:
        return self.cgroup / f"{service}.{controller}.{name}"

    def volume(self, service: str, path: str) -> Path:
        return self.cgroup / "volume"

    def disk(self, service: str, path: str) -> str:
        return "8:0"

    def memory_used(self, service: str) -> int:
        return 100 * 2**20

    def processes(self, service: str) -> int:
        return 7

    def refused_processes(self, service: str) -> int:
        return 3 if self.bounded[service].processes else 0

    def open_files(self, service: str) -> frozenset[int]:
        return frozenset(range(40))

    def open_connections(self, service: str, spared: Collection[int] = ()) -> frozenset[int]:
        return frozenset(range(14, 40))

    def file_limit(self, service: str) -> int:
        return self.file_limits.get(service, 1024)

    def set_file_limit(self, service: str, soft: int) -> None:
        self.file_limits[service] = soft
        self._act(f"files {service}")
