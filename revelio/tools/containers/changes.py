"""What changed about a container in a window: from its events, and from what inspecting it shows where events are forgotten."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from revelio.tools.containers.state import RUNNING, Container, Event, ResourceLimits, paused_since
from revelio.types import Entity, StateChange, Window

LimitsAround = Callable[[Container, float], tuple[ResourceLimits | None, ResourceLimits]]


def changes_in(
    window: Window, container: Container, events: Sequence[Event], limits_around: LimitsAround
) -> tuple[StateChange, ...]:
    """Changes in the order of time; fields are ``state``, ``started``, ``oom``, ``limits``, ``config`` and ``health``."""
    entity = Entity("container", container.name)
    own = [e for e in events if e.id == container.id and window.start <= e.at <= window.end]
    changes = [change for e in own if (change := _from_event(entity, container, e, limits_around)) is not None]
    fields = {change.field for change in changes}
    changes += [change for change in _from_inspection(entity, container, events, window) if change.field not in fields]
    return tuple(sorted(changes, key=lambda change: (change.at, change.field)))


def _from_event(entity: Entity, container: Container, event: Event, limits_around: LimitsAround) -> StateChange | None:
    field, before, after = {
        "pause": ("state", RUNNING, "paused"),
        "unpause": ("state", "paused", RUNNING),
        "die": ("state", RUNNING, f"exited with code {event.detail or '?'}"),
        "start": ("started", "not running", RUNNING),
        "oom": ("oom", RUNNING, "out of memory"),
        "create": ("config", "another container", f"created from {container.image}"),
        "update": ("limits", "", ""),
        "health_status": ("health", "healthy", event.detail),
    }.get(event.action, ("", "", ""))
    if not field or event.detail == "healthy":
        return None
    if field == "limits":
        earlier, later = limits_around(container, event.at)
        before, after = "" if earlier is None else str(earlier), str(later)
    return StateChange(entity, event.at, field, before, after)


def _from_inspection(entity: Entity, container: Container, events: Sequence[Event], window: Window) -> list[StateChange]:
    def within(moment: float) -> bool:
        return window.start <= moment <= window.end

    found = []
    if within(container.created):
        found.append(StateChange(entity, container.created, "config", "another container", f"created from {container.image}"))
    if within(container.started):
        found.append(StateChange(entity, container.started, "started", "not running", RUNNING))
    if within(container.finished):
        found.append(StateChange(entity, container.finished, "state", RUNNING, f"exited with code {container.exit_code}"))
        if container.oom_killed:
            found.append(StateChange(entity, container.finished, "oom", RUNNING, "out of memory"))
    if container.status == "paused" and within(since := paused_since(container, events)):
        found.append(StateChange(entity, since, "state", RUNNING, "paused"))
    failed = [c.at for c in container.checks if not c.passed and within(c.at)]
    if failed:
        found.append(StateChange(entity, failed[0], "health", "passing", "failing"))
    return found
