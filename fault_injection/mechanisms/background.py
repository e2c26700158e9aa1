"""Faults that must go on doing something: a background process, which ends by itself.

It holds a lock while it lives and goes on only while the journal wants its fault, so undoing is: write ``undoing``, wait
for the lock, put things right. That holds after a kill -9 of any of the processes too.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fault_injection.apps import App, app_named
from fault_injection.docker_engine import DockerEngine
from fault_injection.engine import CpuLimit, Engine
from fault_injection.journal import Journal
from fault_injection.mechanisms import database, redis_server
from fault_injection.mechanisms.cross_traffic import stream
from fault_injection.mechanisms.load import burst, crowd, pages_of
from fault_injection.mechanisms.packet_queue import hold_back
from revelio.errors import FaultError

Wanted = Callable[[], bool]
LOCK = "background-{fault}.lock"
"""Each fault has its own: several may be active beside each other."""
LONGEST_S = 300.0
"""No background fault outlives this, or its own ``lasts_s``, whatever happened to who started it."""


def wait_until_gone(folder: Path, fault_id: str, seconds: float = 20.0) -> None:
    """Wait until the background process of this fault lives no longer; ``FaultError`` when it stays."""
    folder.mkdir(parents=True, exist_ok=True)
    deadline, path = time.monotonic() + seconds, lock_of(folder, fault_id)
    with path.open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if time.monotonic() > deadline:
                    raise FaultError(f"a background process still holds {path}; end it, then undo again") from error
                time.sleep(0.1)
    path.unlink(missing_ok=True)


def lock_of(folder: Path, fault_id: str) -> Path:
    """The file that the background process of a fault locks while it lives."""
    return folder / LOCK.format(fault=fault_id)


def pause_by_turns(engine: Engine, service: str, on_s: float, off_s: float, wanted: Wanted) -> None:
    """Pause ``service`` for ``on_s``, let it go on for ``off_s``, and so on; never leaves it paused."""
    try:
        while wanted():
            engine.pause(service)
            _sleep(on_s, wanted)
            engine.unpause(service)
            _sleep(off_s, wanted)
    finally:
        engine.unpause(service)


def _sleep(seconds: float, wanted: Wanted) -> None:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0 and wanted():
        time.sleep(min(0.25, left))


def _pause(app: App, service: str, values: Mapping[str, str], wanted: Wanted) -> None:
    pause_by_turns(DockerEngine(app.project), service, float(values["on_s"]), float(values["off_s"]), wanted)


def kill_again_and_again(engine: Engine, service: str, every_s: float, wanted: Wanted) -> None:
    """End the first process of ``service``, as a crash would, every so many seconds; the engine restarts it."""
    while wanted():
        with contextlib.suppress(FaultError, ProcessLookupError):
            os.kill(engine.pid(service), signal.SIGKILL)
        _sleep(every_s, wanted)


def _kill(app: App, service: str, values: Mapping[str, str], wanted: Wanted) -> None:
    kill_again_and_again(DockerEngine(app.project), service, float(values["every_s"]), wanted)


def _hog(app: App, service: str, values: Mapping[str, str], wanted: Wanted) -> None:
    engine = DockerEngine(app.project)
    groups = {engine.cgroup_file(service, controller, "cgroup.procs") for controller in ("cpu", "cpuacct")}
    use_up(sorted(groups), int(values["processes"]), int(values["niceness"]), wanted)


def use_up(groups: Sequence[Path], processes: int, niceness: int, wanted: Wanted) -> None:
    """Calculate in so many processes of some control groups (their ``cgroup.procs``) until not wanted.

    A niceness below 0, which takes root, gives them more of the group's time than the others in it.
    """
    context = multiprocessing.get_context("fork")
    hogs = [context.Process(target=_calculate, args=(groups, niceness, os.getpid()), daemon=True) for _ in range(processes)]
    try:
        for hog in hogs:
            hog.start()
        while wanted():
            time.sleep(0.25)
    finally:
        for hog in hogs:
            hog.kill()
            hog.join()


def _calculate(groups: Sequence[Path], niceness: int, parent: int) -> None:
    # What is open here is counted among the files of the container that it joins: a runaway job has its three.
    os.closerange(3, 1 + max(int(file.name) for file in Path("/proc/self/fd").iterdir()))
    for group in groups:
        group.write_text(str(os.getpid()))
    # Only now: before it has joined, it would take the time of everybody else on the machine.
    os.setpriority(os.PRIO_PROCESS, 0, niceness)
    while os.getppid() == parent:
        for _ in range(100_000):
            pass


def _burst(app: App, service: str, values: Mapping[str, str], wanted: Wanted) -> None:
    pages = json.loads(values["pages"]) if "pages" in values else pages_of(app.name)
    burst(app.address, pages, float(values["rate"]), float(values["seconds"]), wanted)


def _crowd(app: App, service: str, values: Mapping[str, str], wanted: Wanted) -> None:
    crowd(app.address, json.loads(values["pages"]), int(values["visitors"]), float(values["seconds"]), wanted)


def _hold(app: App, service: str, values: Mapping[str, str], wanted: Wanted) -> None:
    database.hold(app, values["statement"], wanted)


def _evaluate(app: App, service: str, values: Mapping[str, str], wanted: Wanted) -> None:
    redis_server.evaluate_again_and_again(app, values["script"], values["argument"], float(values["every_s"]), wanted)


def _hold_back(app: App, service: str, values: Mapping[str, str], wanted: Wanted) -> None:
    hold_back(DockerEngine(app.project).pid(service), float(values["delay_s"]), float(values["jitter_s"]), wanted)


def _stream(app: App, service: str, values: Mapping[str, str], wanted: Wanted) -> None:
    engine, sink = DockerEngine(app.project), values["to"]
    stream(engine.pid(service), engine.pid(sink), engine.address(sink), int(values["bytes_per_s"]), wanted)


def cut_again_and_again(engine: Engine, service: str, caller: str, port: int, every_s: float, wanted: Wanted) -> None:
    """Abort the connections that address ``caller`` has to a port of ``service`` every so many seconds, at both ends."""
    while wanted():
        with contextlib.suppress(FaultError):
            engine.in_network(service, "ss", "-K", "-H", "-n", "-t", "state", "established", f"dst {caller} and sport = :{port}")
        _sleep(every_s, wanted)


def _cut(app: App, service: str, values: Mapping[str, str], wanted: Wanted) -> None:
    engine, port, every_s = DockerEngine(app.project), int(values["port"]), float(values["every_s"])
    cut_again_and_again(engine, service, values["from"], port, every_s, wanted)


def scale_by_turns(engine: Engine, service: str, usual: CpuLimit, every_s: float, wanted: Wanted) -> None:
    """Give ``service`` half as much CPU again for ``every_s``, then its usual limit, and so on; ends with the usual limit."""
    more = CpuLimit(nano_cpus=usual.nano_cpus * 3 // 2)
    try:
        while wanted():
            for limit in (more, usual):
                with contextlib.suppress(FaultError):
                    engine.set_cpu_limit(service, limit)
                _sleep(every_s, wanted)
    finally:
        engine.set_cpu_limit(service, usual)


def _scale(app: App, service: str, values: Mapping[str, str], wanted: Wanted) -> None:
    usual = CpuLimit(nano_cpus=int(values["nano_cpus"]))
    scale_by_turns(DockerEngine(app.project), service, usual, float(values["every_s"]), wanted)


def _repeat(app: App, service: str, values: Mapping[str, str], wanted: Wanted) -> None:
    database.repeat(app, values["statement"], float(values["every_s"]), wanted)


ACTS: dict[str, Callable[[App, str, Mapping[str, str], Wanted], None]] = {
    "pause": _pause,
    "kill": _kill,
    "hog": _hog,
    "burst": _burst,
    "crowd": _crowd,
    "hold": _hold,
    "evaluate": _evaluate,
    "hold_back": _hold_back,
    "stream": _stream,
    "cut": _cut,
    "scale": _scale,
    "repeat": _repeat,
}
"""What such a process can do, by the name that a fault's step gives it."""


def main(arguments: list[str]) -> None:
    """Entry of the process: APP FOLDER FAULT-ID SERVICE name=value..."""
    app_name, folder, fault_id, service, *pairs = arguments
    values = dict(pair.split("=", 1) for pair in pairs)
    journal = Journal(Path(folder))
    end = time.monotonic() + float(values.get("lasts_s", LONGEST_S))
    with lock_of(Path(folder), fault_id).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def wanted() -> bool:
            return time.monotonic() < end and journal.wanted(fault_id)

        ACTS[values["act"]](app_named(app_name), service, values, wanted)


if __name__ == "__main__":
    main(sys.argv[1:])
