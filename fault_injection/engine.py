"""The container engine, as faults use it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class CpuLimit:
    """A container's CPU limit as the engine keeps it: billionths of a CPU, or quota per period; 0 means not set."""

    nano_cpus: int = 0
    quota_us: int = 0
    period_us: int = 0


@dataclass(frozen=True, slots=True)
class CpuUsage:
    """Cumulative CPU figures of a container's cgroup."""

    at: float
    used_s: float
    periods: int
    throttled_periods: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """A container's limits as the engine keeps them; 0 bytes and 0 processes mean no limit."""

    memory_bytes: int = 0
    processes: int = 0


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file inside a container with what is needed to put it back as it was."""

    content: bytes
    mode: int
    uid: int
    gid: int
    mtime: float


class Engine(Protocol):
    """What faults need of a container engine. Services are named as in the compose file."""

    def container_id(self, service: str) -> str:
        """Id of the service's container; ``FaultError`` when there is none."""

    def state(self, service: str) -> str:
        """``running``, ``paused``, ``exited``..."""

    def address(self, service: str) -> str:
        """IP address inside the application's network."""

    def cpu_limit(self, service: str) -> CpuLimit:
        """The current limit."""

    def set_cpu_limit(self, service: str, limit: CpuLimit) -> None:
        """Apply a limit at once."""

    def cpu_usage(self, service: str) -> CpuUsage:
        """Figures of its cgroup."""

    def pause(self, service: str) -> None:
        """Freeze every process of it."""

    def unpause(self, service: str) -> None:
        """Let it go on; nothing happens when it is not paused."""

    def read_file(self, service: str, path: str) -> StoredFile:
        """One file of it; ``FaultError`` when it is not there."""

    def write_files(self, service: str, files: dict[str, StoredFile]) -> None:
        """Put files in place (full paths)."""

    def restart(self, service: str) -> None:
        """Stop and start it."""

    def stop(self, service: str) -> None:
        """End it in good order."""

    def start(self, service: str) -> None:
        """Start it; nothing happens when it runs."""

    def kill(self, service: str, signal: str) -> None:
        """Send its first process a signal; nothing happens when it does not run."""

    def restarts(self, service: str) -> int:
        """How often the engine itself started it again."""

    def pid(self, service: str) -> int:
        """Its first process on the host; ``FaultError`` when it does not run."""

    def bounds(self, service: str) -> Bounds:
        """The current memory and process limits."""

    def set_bounds(self, service: str, bounds: Bounds) -> None:
        """Apply them at once."""

    def memory_used(self, service: str) -> int:
        """Bytes that its processes use, page cache left out."""

    def processes(self, service: str) -> int:
        """Processes and threads that it has."""

    def refused_processes(self, service: str) -> int:
        """How often it was refused another process or thread since it was started."""

    def open_files(self, service: str) -> frozenset[int]:
        """The numbers of the files and connections that its first process has open."""

    def open_connections(self, service: str, spared: Collection[int] = ()) -> frozenset[int]:
        """Those of them that are connections with other containers, but for such with one of the ``spared`` ports there."""

    def file_limit(self, service: str) -> int:
        """How many its first process may have open."""

    def set_file_limit(self, service: str, soft: int) -> None:
        """Apply such a limit at once."""

    def environment(self, service: str) -> dict[str, str]:
        """The variables that its configuration gives it."""

    def log(self, service: str) -> str:
        """The last lines that it has written."""

    def in_network(self, service: str, *command: str) -> str:
        """Run one of the host's commands in the container's network namespace and give its output; ``FaultError``."""

    def volume(self, service: str, path: str) -> Path:
        """The folder of this machine that is mounted at a path inside the container; ``FaultError`` when none is."""

    def disk(self, service: str, path: str) -> str:
        """The disk on which a path inside the container lies, as the kernel numbers it (``8:0``); ``FaultError``."""

    def cgroup_file(self, service: str, controller: str, name: str) -> Path:
        """A file of its control group, of whichever version the host has; ``FaultError`` when it is not there."""
