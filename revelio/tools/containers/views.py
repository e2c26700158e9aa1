"""Results about containers, as of the end of the window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from revelio.support.numbers import format_count
from revelio.tools.base import Scope
from revelio.tools.change_results import change_result
from revelio.tools.containers.state import NOT_CREATED, RUNNING, Container, Event, ResourceLimits, status_at
from revelio.types import Cell, Result, StateChange

MAX_ROWS = 100


@dataclass(frozen=True, slots=True)
class ContainersView:
    """Containers as they are now, events since the baseline began, and the changes in the window.

    ``resized`` has the limits before (None where unknown) and after each change of them, with the name of the container.
    """

    containers: tuple[Container, ...]
    events: tuple[Event, ...]
    changes: tuple[StateChange, ...]
    scope: Scope
    resized: tuple[tuple[str, ResourceLimits | None, ResourceLimits], ...] = ()

    def of(self, *fields: str) -> tuple[StateChange, ...]:
        """The changes of these fields."""
        return tuple(c for c in self.changes if c.field in fields)


def state(seen: ContainersView) -> Result:
    """The status of each; anything but running at any time in the window has signal 1.

    A container created later says nothing about the one that it replaced.
    """
    end = seen.scope.window.end
    statuses = {c.name: status_at(c, seen.events, end) for c in seen.containers}
    down = [f"{name} is {status}" for name, status in statuses.items() if status not in (RUNNING, NOT_CREATED)]
    was = [_ended(c, seen) for c in seen.of("state") if c.after != RUNNING]
    words = down or was
    rows = tuple(
        (c.name, statuses[c.name], c.exit_code if c.finished else None, c.started or None, c.finished or None, c.error or None)
        for c in seen.containers
    )
    return Result(
        summary="; ".join(words) if words else "; ".join(f"{name} is {status}" for name, status in statuses.items()),
        signal=1.0 if words else 0.0,
        reason=words[0] if words else "running throughout",
        columns=("container", "status", "last exit code", "started", "last stopped", "error"),
        rows=rows,
        kind="containers",
        roles=("container", "", "", "", "", ""),
    )


def _ended(change: StateChange, seen: ContainersView) -> str:
    """``notifier exited (code 0) and restarted``."""
    restarted = any(c.entity == change.entity and c.at >= change.at for c in seen.of("started"))
    code = change.after.removeprefix("exited with code ")
    words = f"exited (code {code})" if code != change.after else f"was {change.after}"
    return f"{change.entity.name} {words}{' and restarted' if restarted else ''}"


def restarts(seen: ContainersView) -> Result:
    """When each started; a start in the window has signal 1."""
    started = seen.of("started")
    rows = tuple((c.name, c.started or None, c.restarts, c.finished or None, c.exit_code) for c in seen.containers)
    return change_result(
        started,
        f"{format_count(len(started), 'start')} in the window",
        "not started in the window",
        ("container", "started", "automatic restarts", "last stopped", "last exit code"),
        rows,
    )


def limits(seen: ContainersView) -> Result:
    """CPU and memory limits, and whether they were changed in the window."""
    changed = seen.of("limits")
    now = "; ".join(f"{c.name}: {c.limits}" for c in seen.containers)
    changes = "; ".join(f"{name}: {after.change_from(before)}" for name, before, after in seen.resized)
    rows = tuple((c.name, c.cpus, c.memory, max((x.at for x in changed), default=None)) for c in seen.containers)
    return change_result(
        changed,
        changes or now,
        "limits not changed",
        ("container", "CPUs", "memory", "changed"),
        rows,
    )


def oom(seen: ContainersView) -> Result:
    """Whether the kernel killed it for memory."""
    killed = seen.of("oom")
    rows = tuple((c.name, c.oom_killed, c.exit_code, c.finished or None, c.memory) for c in seen.containers)
    return change_result(
        killed,
        f"{format_count(len(killed), 'kill')} for memory in the window",
        "not killed for memory",
        ("container", "killed for memory", "last exit code", "last stopped", "memory limit"),
        rows,
    )


def config(seen: ContainersView) -> Result:
    """Image, command and environment; a container created in the window replaced another."""
    replaced = seen.of("config")
    rows: list[tuple[Cell, ...]] = []
    for c in seen.containers:
        rows += [(c.name, "image", c.image), (c.name, "command", c.command), (c.name, "created", c.created)]
        rows += [(c.name, *_pair(entry)) for entry in c.environment]
    created = "; ".join(f"{c.entity.name} {c.after}" for c in replaced)
    return change_result(
        replaced,
        created or "; ".join(f"{c.name} runs {c.image}" for c in seen.containers),
        "not replaced in the window",
        ("container", "setting", "value"),
        tuple(rows),
    )


def health(seen: ContainersView) -> Result:
    """Its own health checks; the signal is the share of those in the window that failed."""
    window = seen.scope.window
    checks = [(c, k) for c in seen.containers for k in c.checks if window.start <= k.at <= window.end]
    failed = [k for _, k in checks if not k.passed]
    share = len(failed) / len(checks) if checks else 0.0
    unhealthy = [c for c in seen.of("health") if c.after == "unhealthy"]
    return Result(
        summary=f"{len(failed)} of {format_count(len(checks), 'health check')} in the window failed",
        signal=1.0 if unhealthy else share,
        reason="declared unhealthy" if unhealthy else f"{share:.0%} of the checks failed",
        kind="health_checks",
        columns=("container", "at", "passed", "output"),
        roles=("container", "at", "passed", "output"),
        rows=tuple((c.name, k.at, k.passed, k.output) for c, k in checks[:MAX_ROWS]),
        truncated=len(checks) > MAX_ROWS,
    )


def events(seen: ContainersView) -> Result:
    """All changes in the window."""
    rows = tuple((c.at, c.entity.name, c.field, c.before, c.after) for c in seen.changes)
    touched = sorted({c.entity.name for c in seen.changes})
    return change_result(
        seen.changes,
        f"{format_count(len(rows), 'change')} at {', '.join(touched)}" if rows else "no change in the window",
        "no change",
        ("at", "container", "change", "before", "after"),
        rows,
        kind="changes",
        roles=("at", "container", "field", "old", "new"),
    )


View = Callable[[ContainersView], Result]
VIEWS: dict[str, View] = {
    "state": state,
    "restarts": restarts,
    "limits": limits,
    "oom": oom,
    "config": config,
    "health": health,
    "events": events,
}


def _pair(entry: str) -> tuple[str, str]:
    name, _, value = entry.partition("=")
    return name, value
