"""The users of an application: host processes beside the stack, the load generator and the probe users."""

import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import StackError
from testbed.stack.project import ROOT, Project

GRACE = 5.0
"""Seconds that a user has to end after being asked to."""


@dataclass(frozen=True, slots=True)
class User:
    """A kind of user and the command that runs it."""

    name: str
    command: tuple[str, ...]


def users_of(project: Project) -> tuple[User, ...]:
    """The users that an application has."""
    python = (sys.executable, "-m")
    where = ("--app", project.app, "--url", project.url)
    return (
        User("load", (*python, "testbed.users.load", *where)),
        User("probes", (*python, "testbed.users.probes", *where, "--out", str(project.state / "notes.jsonl"))),
    )


def start(project: Project, users: Sequence[User], settle: float = 1.0) -> None:
    """Start the users that do not run yet, each in its own process group.

    Raises StackError when one ends within `settle` seconds.
    """
    project.state.mkdir(parents=True, exist_ok=True)
    started = [user for user in users if running(project, user.name) is None]
    for user in started:
        pid = _spawn(user.command, _log(project, user.name))
        _pid_file(project, user.name).write_text(f"{pid} {_started(pid)}\n")
    deadline = time.monotonic() + settle
    while started and time.monotonic() < deadline:
        time.sleep(0.1)
        for user in started:
            if running(project, user.name) is None:
                _pid_file(project, user.name).unlink(missing_ok=True)
                raise StackError(f"the users' `{user.name}` ended at once: {_last_line(project, user.name)}")


def stop(project: Project) -> None:
    """End exactly the users that were started for the project, with their children."""
    for file in sorted(project.state.glob("*.pid")):
        pid = running(project, file.stem)
        if pid is not None:
            _end_group(pid)
        file.unlink(missing_ok=True)


def running(project: Project, name: str) -> int | None:
    """The user's process id while it runs. A process that merely got the same number later does not count."""
    try:
        pid, started = (int(part) for part in _pid_file(project, name).read_text().split())
    except (FileNotFoundError, ValueError):
        return None
    return pid if started == _started(pid) != 0 else None


def _spawn(command: tuple[str, ...], log: Path) -> int:
    """Start a process in its own session that outlives this one; its output goes to the log."""
    search = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH")) if part)
    files = (
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    )
    return os.posix_spawn(command[0], command, {**os.environ, "PYTHONPATH": search}, file_actions=files, setsid=True)


def _end_group(group: int) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + GRACE
        while _started(group) and time.monotonic() < deadline:
            time.sleep(0.05)


def _started(pid: int) -> int:
    """When a process started, in clock ticks since boot; 0 when there is none or it has ended."""
    try:
        # The program's name, in parentheses, may hold anything: count from behind it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])


def _pid_file(project: Project, name: str) -> Path:
    return project.state / f"{name}.pid"


def _log(project: Project, name: str) -> Path:
    return project.state / f"{name}.log"


def _last_line(project: Project, name: str) -> str:
    log = _log(project, name)
    lines = log.read_text(errors="replace").split("\n")
    said = [line for line in lines if line.strip()]
    return f"{said[-1] if said else 'it said nothing'} (all of it: {log})"
