"""How a stack is: its containers, whether its published addresses answer, whether its users run."""

import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

import httpx
from docker.models.containers import Container

from testbed.stack import users
from testbed.stack.engine import ROLE_LABEL, SERVICE_LABEL, containers, engine
from testbed.stack.project import Project, find_project

PROBES = {"prometheus": "/-/ready", "elasticsearch": "/_cluster/health", "jaeger": "/api/services", "gateway": "/healthz"}
"""The path that an HTTP service answers when it is well; a published service that is not named here is only connected to."""


@dataclass(frozen=True, slots=True)
class ContainerState:
    """One container. `state` and `health` are the engine's words (`health` is "" without a health check); `since` is in UTC."""

    service: str
    container: str
    role: str
    state: str
    health: str
    since: datetime | None

    @property
    def healthy(self) -> bool:
        """Running, and healthy where that is checked."""
        return self.state == "running" and self.health in ("healthy", "")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address on 127.0.0.1 and whether its service answers there."""

    service: str
    url: str
    answers: bool


@dataclass(frozen=True, slots=True)
class UserProcess:
    """A host process that plays users; `pid` is None while it does not run."""

    name: str
    pid: int | None


@dataclass(frozen=True, slots=True)
class Status:
    """A stack as it is now. Without containers it is down."""

    app: str
    project: str
    containers: tuple[ContainerState, ...]
    endpoints: tuple[Endpoint, ...]
    users: tuple[UserProcess, ...]

    @property
    def up(self) -> bool:
        """Whether there are containers, all healthy, and every published address answers. Users are not needed for it."""
        return bool(self.containers) and all(c.healthy for c in self.containers) and all(e.answers for e in self.endpoints)


def status(app: str) -> Status:
    """How the application's stack is now. Raises StackError when there is no such application or no engine answers."""
    project = find_project(app)
    with engine(timeout=20) as client:
        found = containers(client, project.name)
        states = tuple(container_state(container) for container in found)
        published = [endpoint for container in found for endpoint in _published(container)]
    with ThreadPoolExecutor(max_workers=8) as pool:
        endpoints = tuple(pool.map(_ask, published))
    return Status(app, project.name, states, endpoints, _users(project))


def container_state(container: Container) -> ContainerState:
    """What the engine says of one container."""
    state = container.attrs["State"]
    return ContainerState(
        service=container.labels.get(SERVICE_LABEL, ""),
        container=container.name or "",
        role=container.labels.get(ROLE_LABEL, ""),
        state=state["Status"],
        health=state.get("Health", {}).get("Status", ""),
        since=_moment(state["FinishedAt"] if state["Status"] == "exited" else state["StartedAt"]),
    )


def _moment(text: str) -> datetime | None:
    moment = datetime.fromisoformat(text[:19] + "+00:00")
    return None if moment.year == 1 else moment


def _published(container: Container) -> list[tuple[str, int]]:
    service = container.labels.get(SERVICE_LABEL, "")
    ports = (binding for bindings in container.ports.values() for binding in bindings or [])
    return [(service, int(binding["HostPort"])) for binding in ports]


def _ask(published: tuple[str, int]) -> Endpoint:
    service, port = published
    path = PROBES.get(service)
    url = f"http://127.0.0.1:{port}" if path else f"tcp://127.0.0.1:{port}"
    try:
        if path:
            answers = httpx.get(url + path, timeout=3, trust_env=False).is_success
        else:
            socket.create_connection(("127.0.0.1", port), timeout=3).close()
            answers = True
    except (OSError, httpx.HTTPError):
        answers = False
    return Endpoint(service, url, answers)


def _users(project: Project) -> tuple[UserProcess, ...]:
    return tuple(UserProcess(user.name, users.running(project, user.name)) for user in users.users_of(project))
