"""The local Docker engine: the one edge of faults where Docker is touched."""

from __future__ import annotations

import functools
import inspect
import io
import os
import re
import resource
import subprocess
import tarfile
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import ParamSpec, TypeVar

import docker
import requests
from docker.errors import DockerException, NotFound
from docker.models.containers import Container

from fault_injection.engine import Bounds, CpuLimit, CpuUsage, StoredFile
from fault_injection.open_files import established, target_of
from revelio.errors import FaultError

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=type)


def _answering(method: Callable[P, R]) -> Callable[P, R]:
    @functools.wraps(method)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except (DockerException, requests.RequestException, subprocess.TimeoutExpired, OSError) as error:
            raise FaultError(f"the container engine could not do its part ({method.__name__}): {error}") from error

    return asked


def _told_as_faults(engine: E) -> E:
    """Whatever keeps a public method from its answer (an engine too busy, a process that is gone) is a ``FaultError``."""
    for name, method in list(vars(engine).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(engine, name, _answering(method))
    return engine


@_told_as_faults
class DockerEngine:
    """The local Docker engine, seen through one compose project's labels."""

    def __init__(self, project: str) -> None:
        self._project = project
        try:
            self._client = docker.from_env(timeout=60)
        except DockerException as error:
            raise FaultError(f"the container engine does not answer: {error}; start it, then try again") from error

    def _container(self, service: str) -> Container:
        labels = [f"com.docker.compose.project={self._project}", f"com.docker.compose.service={service}"]
        found = self._client.containers.list(all=True, filters={"label": labels})
        if not found:
            raise FaultError(f"no container of {service!r} in project {self._project}: start it with `revelio testbed up`")
        return found[0]

    def container_id(self, service: str) -> str:
        """Full id."""
        return str(self._container(service).id)

    def state(self, service: str) -> str:
        """The engine's own word for it."""
        return str(self._container(service).status)

    def address(self, service: str) -> str:
        """The first network's address."""
        networks = self._container(service).attrs["NetworkSettings"]["Networks"].values()
        for network in networks:
            if network.get("IPAddress"):
                return str(network["IPAddress"])
        raise FaultError(f"{service} has no address in its network; is it running?")

    def cpu_limit(self, service: str) -> CpuLimit:
        """As `docker inspect` shows it."""
        host = self._container(service).attrs["HostConfig"]
        return CpuLimit(int(host.get("NanoCpus") or 0), int(host.get("CpuQuota") or 0), int(host.get("CpuPeriod") or 0))

    def set_cpu_limit(self, service: str, limit: CpuLimit) -> None:
        """`docker update`: the client library cannot set fractions of CPUs on a running container."""
        if limit.nano_cpus:
            options = [f"--cpus={limit.nano_cpus / 1e9:.9f}"]
        else:
            options = [f"--cpu-period={limit.period_us or 100_000}", f"--cpu-quota={limit.quota_us or -1}"]
        _said(["docker", "update", *options, self.container_id(service)], f"docker update of {service}")

    def cpu_usage(self, service: str) -> CpuUsage:
        """One reading of the stats API."""
        container = self._container(service)
        stats = self._client.api.stats(str(container.id), stream=False, one_shot=True)
        cpu = stats["cpu_stats"]
        throttling = cpu.get("throttling_data", {})
        return CpuUsage(
            at=time.time(),
            used_s=cpu["cpu_usage"]["total_usage"] / 1e9,
            periods=int(throttling.get("periods", 0)),
            throttled_periods=int(throttling.get("throttled_periods", 0)),
        )

    def log(self, service: str) -> str:
        """A hundred lines, as `docker logs` shows them."""
        return bytes(self._container(service).logs(tail=100)).decode(errors="replace")

    def pause(self, service: str) -> None:
        """No effect when it is paused already."""
        container = self._container(service)
        if container.status != "paused":
            container.pause()

    def unpause(self, service: str) -> None:
        """No effect when it is not paused."""
        container = self._container(service)
        if container.status == "paused":
            container.unpause()

    def read_file(self, service: str, path: str) -> StoredFile:
        """Through the archive API: nothing runs inside the container."""
        try:
            chunks, _ = self._container(service).get_archive(path)
        except NotFound as error:
            raise FaultError(f"{service} has no file {path}") from error
        with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
            member = archive.getmembers()[0]
            content = archive.extractfile(member)
            if content is None:
                raise FaultError(f"{path} of {service} is not a plain file")
            return StoredFile(content.read(), member.mode, member.uid, member.gid, float(member.mtime))

    def write_files(self, service: str, files: dict[str, StoredFile]) -> None:
        """Through the archive API, all in one request."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for path, file in files.items():
                member = tarfile.TarInfo(path.lstrip("/"))
                member.size, member.mode, member.uid, member.gid = len(file.content), file.mode, file.uid, file.gid
                member.mtime = file.mtime
                archive.addfile(member, io.BytesIO(file.content))
        if not self._container(service).put_archive("/", buffer.getvalue()):
            raise FaultError(f"the engine refused the files for {service}: {', '.join(files)}")

    def restart(self, service: str) -> None:
        """Two seconds of grace, as a quick rollout gives."""
        self._container(service).restart(timeout=2)

    def stop(self, service: str) -> None:
        """Two seconds of grace. The engine does not start it again by itself."""
        self._container(service).stop(timeout=2)

    def start(self, service: str) -> None:
        """No effect when it runs."""
        self._container(service).start()

    def kill(self, service: str, signal: str) -> None:
        """Through the engine's API, which counts it as requested: it does not restart a first process killed this way."""
        container = self._container(service)
        if container.status == "running":
            container.kill(signal)

    def restarts(self, service: str) -> int:
        """As `docker inspect` counts them."""
        return int(self._container(service).attrs["RestartCount"])

    def pid(self, service: str) -> int:
        """As `docker inspect` shows it."""
        found = int(self._container(service).attrs["State"]["Pid"])
        if not found:
            raise FaultError(f"{service} does not run")
        return found

    def bounds(self, service: str) -> Bounds:
        """As `docker inspect` shows them."""
        host = self._container(service).attrs["HostConfig"]
        return Bounds(int(host.get("Memory") or 0), max(0, int(host.get("PidsLimit") or 0)))

    def set_bounds(self, service: str, bounds: Bounds) -> None:
        """`docker update`: swap is bounded with memory, or the limit would only mean swapping."""
        memory = str(bounds.memory_bytes) if bounds.memory_bytes else "-1"
        options = [f"--memory={memory}", f"--memory-swap={memory}", f"--pids-limit={bounds.processes or -1}"]
        _said(["docker", "update", *options, self.container_id(service)], f"docker update of {service}")

    def memory_used(self, service: str) -> int:
        """One reading of the stats API."""
        memory = self._client.api.stats(self.container_id(service), stream=False, one_shot=True)["memory_stats"]
        kept = memory.get("stats", {})
        return int(memory["usage"]) - int(kept.get("inactive_file", kept.get("total_inactive_file", 0)))

    def processes(self, service: str) -> int:
        """One reading of the stats API."""
        return int(self._client.api.stats(self.container_id(service), stream=False, one_shot=True)["pids_stats"]["current"])

    def refused_processes(self, service: str) -> int:
        """As its control group counts them."""
        found = re.search(r"^max (\d+)$", self.cgroup_file(service, "pids", "pids.events").read_text(), re.MULTILINE)
        return int(found[1]) if found else 0

    def open_files(self, service: str) -> frozenset[int]:
        """From the kernel's table."""
        return frozenset(int(entry.name) for entry in Path(f"/proc/{self.pid(service)}/fd").iterdir())

    def open_connections(self, service: str, spared: Collection[int] = ()) -> frozenset[int]:
        """From the kernel's table, and that of its network."""
        process = Path(f"/proc/{self.pid(service)}")
        sockets = {f"socket:[{inode}]" for inode in established((process / "net" / "tcp").read_text(), spared)}
        return frozenset(number for number in self.open_files(service) if target_of(process / "fd" / str(number)) in sockets)

    def file_limit(self, service: str) -> int:
        """The soft limit."""
        return resource.prlimit(self.pid(service), resource.RLIMIT_NOFILE)[0]

    def set_file_limit(self, service: str, soft: int) -> None:
        """The soft limit; the hard one stays."""
        pid = self.pid(service)
        hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(soft, hard), hard))

    def environment(self, service: str) -> dict[str, str]:
        """As `docker inspect` shows it, with what the image sets."""
        return dict(pair.split("=", 1) for pair in self._container(service).attrs["Config"]["Env"])

    def in_network(self, service: str, *command: str) -> str:
        """By `nsenter`: nothing is started inside the container."""
        return _said(["nsenter", "--target", str(self.pid(service)), "--net", *command], f"`{' '.join(command)}` at {service}")

    def volume(self, service: str, path: str) -> Path:
        """As `docker inspect` shows it."""
        for mount in self._container(service).attrs["Mounts"]:
            if mount["Destination"] == path:
                return Path(mount["Source"])
        raise FaultError(f"nothing is mounted at {path} of {service}")

    def disk(self, service: str, path: str) -> str:
        """The whole disk where it is one of its partitions: the kernel throttles no less."""
        try:
            device = Path(f"/proc/{self.pid(service)}/root{path}").stat().st_dev
            folder = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve(strict=True)
            whole = folder.parent if (folder / "partition").exists() else folder
            return (whole / "dev").read_text().strip()
        except OSError as error:
            raise FaultError(f"the disk of {path} in {service} is not to be found: {error}; it may lie in memory") from error

    def cgroup_file(self, service: str, controller: str, name: str) -> Path:
        """Found through its first process, so that it holds for both versions and any parent group."""
        for line in Path(f"/proc/{self.pid(service)}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "" or controller in controllers.split(","):
                folder = Path("/sys/fs/cgroup") / (controller if controllers else "") / path.lstrip("/")
                if (folder / name).exists():
                    return folder / name
        raise FaultError(f"the control group of {service} has no {controller} file {name} on this machine")


def _said(command: list[str], what: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except OSError as error:
        raise FaultError(f"{what} cannot be run: {error}; install the program and run as root") from error
    if done.returncode:
        raise FaultError(f"{what} failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
