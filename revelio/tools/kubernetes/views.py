"""Results about workloads, as the API server knows them now and since the baseline."""

from __future__ import annotations

from collections.abc import Callable

from revelio.support.numbers import format_count
from revelio.tools.change_results import change_result
from revelio.tools.kubernetes.changes import differences, is_limit
from revelio.tools.kubernetes.namespace_views import NAMESPACE_VIEWS
from revelio.tools.kubernetes.seen import NamespaceState
from revelio.tools.kubernetes.state import RUNNING, latest
from revelio.types import NO_ROLE, Cell, Result

MAX_ROWS = 100


def state(seen: NamespaceState) -> Result:
    """Whether pods run and serve; anything else at any time in the window has signal 1."""
    rows: list[tuple[Cell, ...]] = []
    down = []
    for pod in seen.cluster.pods_of(seen.workload):
        for part in pod.parts:
            rows.append(
                (
                    pod.name,
                    part.name,
                    part.why or part.status,
                    part.exit_code if part.finished else None,
                    part.started or None,
                    part.finished or None,
                    pod.message or None,
                )
            )
            if part.status != RUNNING and pod.kind != "Job":
                down.append(f"{pod.name} is {part.why or part.status}")
        if not pod.parts:
            rows.append((pod.name, None, pod.phase, None, None, None, pod.message or None))
            down.append(f"{pod.name} is {pod.phase}")
    short = [
        f"{w.name}: {w.available} of {format_count(w.wanted, 'pod')} serve"
        for w in seen.cluster.workloads
        if seen.workload in (None, w.name) and w.available < w.wanted
    ]
    ended = [f"{c.entity.name}: {c.after}" for c in seen.of("state")]
    words = short + down or ended
    running = len([r for r in rows if r[2] == RUNNING])
    return Result(
        summary="; ".join(words[:5]) if words else f"{running} of {format_count(len(rows), 'container')} running",
        signal=1.0 if words else 0.0,
        reason=words[0] if words else "running throughout",
        columns=("pod", "container", "status", "last exit code", "started", "last stopped", "message"),
        rows=tuple(rows[:MAX_ROWS]),
        truncated=len(rows) > MAX_ROWS,
        kind="containers",
        roles=("container", *(NO_ROLE,) * 6),
    )


def restarts(seen: NamespaceState) -> Result:
    """When containers started; a start in the window has signal 1."""
    rows = tuple(
        (
            pod.name,
            part.name,
            part.started or None,
            part.restarts,
            part.finished or None,
            part.exit_code if part.finished else None,
        )
        for pod in seen.cluster.pods_of(seen.workload)
        for part in pod.parts
    )
    started = seen.of("started")
    columns = ("pod", "container", "started", "restarts", "last stopped", "last exit code")
    return change_result(
        started, f"{format_count(len(started), 'start')} in the window", "not started in the window", columns, rows
    )


def limits(seen: NamespaceState) -> Result:
    """Requests and limits of each version, and whether they were changed in the window."""
    return _settings(seen, "limits", limit=True)


def config(seen: NamespaceState) -> Result:
    """Image, command and variables of each version, and whether a new one came in the window."""
    return _settings(seen, "config", limit=False)


def oom(seen: NamespaceState) -> Result:
    """Whether a container was killed for memory."""
    killed = seen.of("oom")
    rows = tuple(
        (pod.name, part.name, part.ended_as == "OOMKilled", part.exit_code if part.finished else None, part.finished or None)
        for pod in seen.cluster.pods_of(seen.workload)
        for part in pod.parts
    )
    columns = ("pod", "container", "killed for memory", "last exit code", "last stopped")
    return change_result(
        killed, f"{format_count(len(killed), 'kill')} for memory in the window", "not killed for memory", columns, rows
    )


def health(seen: NamespaceState) -> Result:
    """Failed probes in the window, and pods that are not ready."""
    window = seen.scope.window
    failed = [
        e
        for e in seen.cluster.events
        if e.reason in ("Unhealthy", "ProbeWarning")
        and seen.workload in (None, e.workload)
        and window.start <= e.at <= window.end
    ]
    unready = [p for p in seen.cluster.pods_of(seen.workload) if not p.ready and p.kind != "Job" and p.phase != "Succeeded"]
    words = [f"{p.name} is not ready" for p in unready] or [e.message for e in failed]
    return Result(
        summary="; ".join(words[:3]) if words else "every pod is ready, and no probe failed",
        signal=1.0 if unready or failed else 0.0,
        reason=words[0] if words else "no probe failed",
        kind="health_checks",
        columns=("container", "at", "passed", "output"),
        roles=("container", "at", "passed", "output"),
        rows=tuple((e.name, e.at, False, e.message) for e in failed[:MAX_ROWS]),
        truncated=len(failed) > MAX_ROWS,
    )


def events(seen: NamespaceState) -> Result:
    """All changes in the window."""
    rows = tuple((c.at, c.entity.name, c.field, c.before, c.after) for c in seen.changes)
    touched = sorted({c.entity.name for c in seen.changes})
    summary = f"{format_count(len(rows), 'change')} at {', '.join(touched[:8])}" if rows else "no change in the window"
    return change_result(
        seen.changes,
        summary,
        "no change",
        ("at", "container", "change", "before", "after"),
        rows,
        kind="changes",
        roles=("at", "container", "field", "old", "new"),
    )


VIEWS: dict[str, Callable[[NamespaceState], Result]] = {
    "state": state,
    "restarts": restarts,
    "limits": limits,
    "oom": oom,
    "config": config,
    "health": health,
    "events": events,
    **NAMESPACE_VIEWS,
}


def _settings(seen: NamespaceState, field: str, *, limit: bool) -> Result:
    rows: list[tuple[Cell, ...]] = []
    for workload, revisions in latest(seen.cluster.revisions).items():
        if seen.workload not in (None, workload):
            continue
        newest, older = revisions[0], revisions[1] if len(revisions) > 1 else None
        was = {name: old for name, old, _ in differences(older, newest)}
        kept = [(name, value) for name, value in newest.settings if is_limit(name) == limit]
        gone = [(name, "") for name in was if is_limit(name) == limit and name not in dict(newest.settings)]
        rows += [(workload, name, value, was.get(name), newest.number, newest.created or None) for name, value in (*kept, *gone)]
    changed = seen.of(field)
    told = "; ".join(f"{c.entity.name}: {c.before} → {c.after}" for c in changed[:3])
    unset = "no limit is set" if limit else "nothing is known of its versions"
    now = "; ".join(f"{r[1]} {r[2]}" for r in rows[:4]) or unset
    columns = ("container", "setting", "value", "before", "revision", "since")
    return change_result(changed, told or now, f"{field} not changed in the window", columns, tuple(rows))
