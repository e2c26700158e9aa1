"""A container as the engine describes it, and the events that happened to it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from revelio.support.numbers import format_value
from revelio.types import Alias, Entity

PROJECT, SERVICE = "com.docker.compose.project", "com.docker.compose.service"
_NUMBER, _ONE_OFF = "com.docker.compose.container-number", "com.docker.compose.oneoff"
_ROLE = "revelio.role"
_SECRET = re.compile(r"pass|secret|token|key|credential|auth", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"(://[^:/@\s]*):[^@/\s]*@")
_FRACTION = re.compile(r"\.\d+")
RUNNING = "running"
NOT_CREATED = "not created"


@dataclass(frozen=True, slots=True)
class Check:
    """One run of a health check."""

    at: float
    passed: bool
    output: str


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """CPU cores and bytes of memory that a container may use; None for no limit."""

    cpus: float | None
    memory: int | None

    def __str__(self) -> str:
        cpus = "no CPU limit" if self.cpus is None else f"{format_value(self.cpus)} CPU cores"
        memory = "no memory limit" if self.memory is None else f"{format_value(self.memory, 'B')} memory"
        return f"{cpus}, {memory}"

    def change_from(self, before: ResourceLimits | None) -> str:
        """``CPU limit cut 0.5 → 0.037 cores (−93 %)``."""
        if before is None:
            return f"limits now {self}, unknown before"
        changes = (
            _limit_change("CPU limit", before.cpus, self.cpus, "cores"),
            _limit_change("memory limit", before.memory, self.memory, "B"),
        )
        return "; ".join(change for change in changes if change) or f"limits unchanged: {self}"


def _limit_change(name: str, before: float | None, after: float | None, unit: str) -> str:
    if before == after:
        return ""
    if before is None or after is None:
        was, now = ("none" if v is None else format_value(v, unit) for v in (before, after))
        return f"{name} {'removed' if after is None else 'set'}: {was} → {now}"
    share = f"{abs(after / before - 1.0):.0%}".replace("%", " %")
    # One unit stands for both where they share it.
    was = format_value(before, unit).removesuffix(f" {unit}")
    verb, sign = ("cut", "−") if after < before else ("raised", "+")
    return f"{name} {verb} {was} → {format_value(after, unit)} ({sign}{share})"


@dataclass(frozen=True, slots=True)
class Container:
    """One container; times in Unix seconds, 0.0 for never. ``cpus`` and ``memory`` (bytes) are None where there is no limit."""

    id: str
    name: str
    status: str
    exit_code: int
    oom_killed: bool
    error: str
    created: float
    started: float
    finished: float
    restarts: int
    image: str
    command: str
    environment: tuple[str, ...]
    cpus: float | None
    memory: int | None
    health: str
    checks: tuple[Check, ...]

    @property
    def limits(self) -> ResourceLimits:
        """Its limits."""
        return ResourceLimits(self.cpus, self.memory)


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """Something that happened to a container; ``detail`` is an exit code or a signal."""

    at: float
    container: str
    id: str
    action: str
    detail: str = ""


def names(listed: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The name by id of the application's containers: the Compose service, numbered where there are several."""
    found = {}
    for item in listed:
        labels = item.get("Labels") or {}
        if labels.get(_ROLE, "app") != "app" or labels.get(_ONE_OFF, "").lower() == "true" or not labels.get(SERVICE):
            continue
        number = labels.get(_NUMBER, "1")
        found[str(item["Id"])] = labels[SERVICE] if number in ("", "1") else f"{labels[SERVICE]}-{number}"
    return found


def known_as(listed: Iterable[Mapping[str, Any]]) -> tuple[Alias, ...]:
    """Other names of the application's containers: their own, the start of their id, and an image's where one alone runs it."""
    items = {str(item["Id"]): item for item in listed}
    named = names(items.values())
    images = {i: re.split(r"[:@]", str(items[i].get("Image", "")).rpartition("/")[2])[0] for i in named}
    shared = Counter(images.values())
    found = set()
    for i, name in named.items():
        own = (str(n).lstrip("/") for n in items[i].get("Names") or ())
        image = images[i] if shared[images[i]] == 1 else ""
        found |= {Alias(Entity("container", name), other) for other in (*own, i[:12], image) if other not in ("", name)}
    return tuple(sorted(found))


def parse(inspected: Mapping[str, Any], name: str) -> Container:
    """The answer to an inspection. Raises ``KeyError``, ``TypeError`` or ``ValueError`` when it is none."""
    state, config, host = inspected["State"], inspected["Config"], inspected["HostConfig"]
    health = state.get("Health") or {}
    return Container(
        id=str(inspected["Id"]),
        name=name,
        status=str(state["Status"]),
        exit_code=int(state.get("ExitCode", 0)),
        oom_killed=bool(state.get("OOMKilled", False)),
        error=str(state.get("Error", "")),
        created=_moment(inspected.get("Created")),
        started=_moment(state.get("StartedAt")),
        finished=_moment(state.get("FinishedAt")),
        restarts=int(inspected.get("RestartCount", 0)),
        image=str(config.get("Image", "")),
        command=" ".join([str(inspected.get("Path", "")), *map(str, inspected.get("Args") or ())]).strip(),
        environment=tuple(sorted(_masked(str(entry)) for entry in config.get("Env") or ())),
        cpus=_cpus(host),
        memory=int(host["Memory"]) if host.get("Memory") else None,
        health=str(health.get("Status", "")),
        checks=tuple(
            Check(_moment(check.get("Start")), int(check.get("ExitCode", 0)) == 0, str(check.get("Output", ""))[:300])
            for check in health.get("Log") or ()
        ),
    )


def parse_event(event: Mapping[str, Any], named: Mapping[str, str]) -> Event | None:
    """An event of one of the named containers; None for any other. Raises as ``parse`` does."""
    actor = event["Actor"]
    container = str(actor["ID"])
    if container not in named:
        return None
    attributes = actor.get("Attributes") or {}
    action = str(event["Action"])
    detail = attributes.get("exitCode", attributes.get("signal", ""))
    if action.startswith("health_status"):
        action, _, detail = action.partition(": ")
    return Event(int(event["timeNano"]) / 1e9, named[container], container, action, str(detail))


def status_at(container: Container, events: Sequence[Event], moment: float) -> str:
    """What its status was then: the present one, with the events since then taken back."""
    if moment < container.created:
        return NOT_CREATED
    status = container.status
    for event in sorted((e for e in events if e.id == container.id and e.at > moment), reverse=True):
        status = {"pause": RUNNING, "unpause": "paused", "die": RUNNING, "start": "exited"}.get(event.action, status)
    if status != RUNNING:
        return status if not _stopped_later(container, events, moment) else RUNNING
    return "exited" if container.finished <= moment < container.started and container.finished else status


def _stopped_later(container: Container, events: Sequence[Event], moment: float) -> bool:
    """Whether it is down now, went down after ``moment``, and the engine has forgotten the event."""
    forgotten = not any(e.id == container.id and e.action in ("die", "pause") for e in events)
    if not forgotten:
        return False
    if container.status == "paused":
        return paused_since(container, events) > moment
    return container.started <= moment < container.finished


def paused_since(container: Container, events: Sequence[Event]) -> float:
    """When a paused container was paused; its last health check is the latest sign of life where no event is left."""
    paused = [e.at for e in events if e.id == container.id and e.action == "pause"]
    return max(paused) if paused else max((c.at for c in container.checks), default=0.0)


def _cpus(host: Mapping[str, Any]) -> float | None:
    if host.get("NanoCpus"):
        return int(host["NanoCpus"]) / 1e9
    if int(host.get("CpuQuota") or 0) > 0:
        return int(host["CpuQuota"]) / int(host.get("CpuPeriod") or 100_000)
    return None


def _masked(entry: str) -> str:
    name, equals, value = entry.partition("=")
    if _SECRET.search(name):
        return f"{name}{equals}***"
    return name + equals + _PASSWORD_IN_URL.sub(r"\1:***@", value)


def _moment(text: object) -> float:
    """An RFC 3339 time with nanoseconds; the engine writes the year 1 for never."""
    if not text or str(text).startswith("0001-"):
        return 0.0
    short = _FRACTION.sub(lambda digits: digits[0][:7], str(text))
    return datetime.fromisoformat(short).timestamp()
