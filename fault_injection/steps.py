"""How each kind of step is done. Every undoing step may be repeated, and is moot on a container that was replaced."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from fault_injection.apps import App
from fault_injection.engine import Bounds, CpuLimit, Engine, StoredFile
from fault_injection.journal import Journal
from fault_injection.mechanisms import database, redis_server, small_disk
from fault_injection.mechanisms.background import wait_until_gone
from fault_injection.mechanisms.process_clock import Write, started, write
from fault_injection.spec import Step
from revelio.errors import FaultError
from testbed.errors import StackError
from testbed.stack import find_project, reconfigure

TELEMETRY_PORTS = (4317, 4318)


def cpu_step(engine: Engine, service: str, limit: CpuLimit) -> Step:
    """Apply a CPU limit."""
    figures = (("nano_cpus", limit.nano_cpus), ("quota_us", limit.quota_us), ("period_us", limit.period_us))
    return Step("set_cpu_limit", service, engine.container_id(service), figures)


def files_step(engine: Engine, service: str, files: Mapping[str, StoredFile]) -> Step:
    """Put files in place and restart the service with them."""
    packed = {path: [base64.b64encode(f.content).decode(), f.mode, f.uid, f.gid, f.mtime] for path, f in sorted(files.items())}
    return Step("write_files", service, engine.container_id(service), (("files", json.dumps(packed)),))


def bounds_step(engine: Engine, service: str, bounds: Bounds) -> Step:
    """Apply memory and process limits."""
    figures = (("memory_bytes", bounds.memory_bytes), ("processes", bounds.processes))
    return Step("set_bounds", service, engine.container_id(service), figures)


def network_step(engine: Engine, service: str, *command: str, undoes: bool = False) -> Step:
    """Run a command in the container's network namespace; one that ``undoes`` may find nothing to undo."""
    return Step("in_network", service, engine.container_id(service), (("command", json.dumps(command)), ("undoes", int(undoes))))


def cut_step(engine: Engine, service: str, *which: str, undoes: bool = False) -> Step:
    """Cut the service's connections with other containers at its end, once; those that telemetry takes stay.

    ``which`` are further conditions in the words of ``ss``.
    """
    mine = (*which, *(f"not dport = :{port}" for port in TELEMETRY_PORTS), "not dst 127.0.0.0/8")
    return network_step(engine, service, "ss", "-K", "-H", "-n", "-t", "state", "established", " and ".join(mine), undoes=undoes)


def cgroup_step(engine: Engine, service: str, controller: str, name: str, text: str) -> Step:
    """Write a file of the container's control group."""
    return Step(
        "write_cgroup", service, engine.container_id(service), (("controller", controller), ("name", name), ("text", text))
    )


def configure_step(service: str, changed: Mapping[str, str]) -> Step:
    """Roll a service out again with some variables changed; with none, as its configuration was.

    It is about the service and not about one container of it, since each rollout makes another.
    """
    return Step("configure", service, "", (("changed", json.dumps(dict(changed), sort_keys=True)),))


def memory_step(engine: Engine, service: str, writes: Iterable[Write], *, undoes: bool = False) -> Step:
    """Write into the memory of the service's first process; one that ``undoes`` has nothing to undo in another process."""
    pid = engine.pid(service)
    packed = json.dumps([[one.address, base64.b64encode(one.content).decode()] for one in writes])
    figures = (("pid", pid), ("started", started(pid)), ("writes", packed), ("undoes", int(undoes)))
    return Step("write_memory", service, engine.container_id(service), figures)


def sql_step(statement: str) -> Step:
    """Have the application's database carry out a statement. It is about what the database keeps, not about its container."""
    return Step("sql", "postgres", "", (("statement", statement),))


def redis_step(changed: Mapping[str, str]) -> Step:
    """Apply settings of the application's Redis. It is about the server, whichever container it runs in."""
    return Step("configure_redis", "redis", "", (("changed", json.dumps(dict(changed), sort_keys=True)),))


def perform(step: Step, app: App, engine: Engine, journal: Journal, fault_id: str) -> None:
    """Do one step. Raises ``FaultError`` when the engine refuses it or the container was replaced meanwhile."""
    if step.action == "stop_background":
        wait_until_gone(journal.folder, fault_id)
        return
    if step.action == "sql":
        database.carry_out(app, str(step.argument("statement")))
        return
    if step.action == "configure_redis":
        redis_server.configure(app, json.loads(str(step.argument("changed"))))
        return
    if step.action == "configure":
        try:
            reconfigure(find_project(app.name), step.service, json.loads(str(step.argument("changed"))))
        except StackError as error:
            raise FaultError(str(error)) from error
        return
    if step.container and engine.container_id(step.service) != step.container:
        raise FaultError(f"the container of {step.service} was replaced meanwhile; try again")
    if step.action == "start_background":
        _start_background(step, app, journal, fault_id)
    else:
        _action(step)(step, engine)


def revert(step: Step, app: App, engine: Engine, journal: Journal, fault_id: str) -> str:
    """Do one undoing step; the reason why it was moot, or an empty text."""
    if step.action == "stop_background" or not step.container:
        perform(step, app, engine, journal, fault_id)
        return ""
    try:
        now = engine.container_id(step.service)
    except FaultError:
        return f"{step.service} is gone"
    if now != step.container:
        return f"{step.service} was replaced"
    perform(step, app, engine, journal, fault_id)
    return ""


def _action(step: Step) -> Callable[[Step, Engine], None]:
    actions: dict[str, Callable[[Step, Engine], None]] = {
        "set_cpu_limit": _set_cpu_limit,
        "pause": lambda s, e: e.pause(s.service),
        "unpause": lambda s, e: e.unpause(s.service),
        "restart": lambda s, e: e.restart(s.service),
        "write_files": _write_files,
        "stop": lambda s, e: e.stop(s.service),
        "start": lambda s, e: e.start(s.service),
        "kill": lambda s, e: e.kill(s.service, str(s.argument("signal"))),
        "set_bounds": _set_bounds,
        "limit_files": lambda s, e: e.set_file_limit(s.service, int(s.argument("soft"))),
        "in_network": _in_network,
        "write_cgroup": _write_cgroup,
        "carry_over_disk": lambda s, _: small_disk.carry_over(Path(str(s.argument("volume")))),
        "fill_disk": lambda s, _: small_disk.fill(Path(str(s.argument("volume")))),
        "carry_back_disk": lambda s, _: small_disk.carry_back(Path(str(s.argument("volume")))),
        "write_memory": _write_memory,
    }
    if step.action not in actions:
        raise FaultError(f"unknown step {step.action!r} in the journal; it is from another version")
    return actions[step.action]


def _set_cpu_limit(step: Step, engine: Engine) -> None:
    limit = CpuLimit(*(int(step.argument(name)) for name in ("nano_cpus", "quota_us", "period_us")))
    engine.set_cpu_limit(step.service, limit)


def _write_files(step: Step, engine: Engine) -> None:
    packed = json.loads(str(step.argument("files")))
    files = {path: StoredFile(base64.b64decode(text), *rest) for path, (text, *rest) in packed.items()}
    if any(engine.read_file(step.service, path).content != file.content for path, file in files.items()):
        engine.write_files(step.service, files)
        engine.restart(step.service)
    elif engine.state(step.service) != "running":
        engine.restart(step.service)


def _set_bounds(step: Step, engine: Engine) -> None:
    engine.set_bounds(step.service, Bounds(int(step.argument("memory_bytes")), int(step.argument("processes"))))


def _in_network(step: Step, engine: Engine) -> None:
    try:
        engine.in_network(step.service, *json.loads(str(step.argument("command"))))
    except FaultError:
        # A namespace ends with its container's processes, and what was put into it ends with it.
        if not step.argument("undoes"):
            raise


def _write_cgroup(step: Step, engine: Engine) -> None:
    controller, name, text = (str(step.argument(part)) for part in ("controller", "name", "text"))
    try:
        engine.cgroup_file(step.service, controller, name).write_text(text)
    except OSError as error:
        raise FaultError(f"{name} of {step.service} does not take {text!r}: {error}") from error


def _write_memory(step: Step, engine: Engine) -> None:
    pid = int(step.argument("pid"))
    try:
        same = engine.pid(step.service) == pid and started(pid) == step.argument("started")
    except FaultError:
        same = False
    if same:
        writes = json.loads(str(step.argument("writes")))
        write(pid, tuple(Write(address, base64.b64decode(content)) for address, content in writes))
    elif not step.argument("undoes"):
        raise FaultError(f"{step.service} was restarted meanwhile; try again")


def _start_background(step: Step, app: App, journal: Journal, fault_id: str) -> None:
    command = [sys.executable, "-m", "fault_injection.mechanisms.background", app.name, str(journal.folder)]
    arguments = [fault_id, step.service, *(f"{name}={value}" for name, value in step.arguments)]
    with (journal.folder / "background.log").open("a") as log:
        process = subprocess.Popen(
            [*command, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
        )
    # The process that started it may live long: a thread waits for its end, so that it does not stay behind as a zombie.
    threading.Thread(target=process.wait, daemon=True).start()
    time.sleep(0.1)
