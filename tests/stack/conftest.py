"""Brings the application that a test needs up where it is not up yet, and afterwards takes it down to the last network."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from fault_injection.apps import app_named
from fault_injection.inject import open_faults
from testbed.stack import Status, applications, down, status, up


def remains(project: str) -> list[str]:
    """Everything in the engine that carries the project's label."""
    wanted: dict[str, str | list[str] | bool] = {"label": f"com.docker.compose.project={project}"}
    client = docker.from_env()
    try:
        containers = [c.name or "" for c in client.containers.list(all=True, filters=wanted)]
        networks = [n.name or "" for n in client.networks.list(filters=wanted)]
        return containers + networks + [v.name or "" for v in client.volumes.list(filters=wanted)]
    finally:
        client.close()


class Stacks:
    """One application at a time, beside those that ran before the tests; what was brought up here is taken down here."""

    def __init__(self) -> None:
        self._ours = ""
        self._ready: dict[str, Status] = {}

    def have(self, app: str) -> Status:
        """The running application."""
        if app not in self._ready:
            self.release()
            now = status(app)
            if not (now.up and all(user.pid for user in now.users)):
                self._ours = app
                now = up(app)
            assert open_faults(app_named(app)) == ()
            self._ready[app] = now
        return self._ready[app]

    def release(self) -> None:
        """Take down what was brought up here; nothing of it may stay."""
        if self._ours:
            app, self._ours = self._ours, ""
            project = self._ready.pop(app).project if app in self._ready else status(app).project
            down(app)
            assert remains(project) == []


@pytest.fixture(scope="session")
def stacks() -> Iterator[Stacks]:
    """All stacks of this session."""
    stacks = Stacks()
    yield stacks
    stacks.release()


@pytest.fixture
def app(request: pytest.FixtureRequest) -> str:
    """The application that the test is about: its parameter, or its module's ``APP``."""
    return wanted(request.node)


@pytest.fixture(autouse=True)
def running_stack(stacks: Stacks, request: pytest.FixtureRequest) -> Status:
    """The application that the test is about, with every backend and its users."""
    return stacks.have(wanted(request.node))


def wanted(item: pytest.Item) -> str:
    """Which application a test needs."""
    given = getattr(item, "callspec", None)
    return str(given.params["app"]) if given and "app" in given.params else str(getattr(item.module, "APP", "shop"))  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of one application follow each other, so that each is brought up once."""
    here = [item for item in items if "tests/stack/" in item.path.as_posix()]
    ordered = iter(sorted(here, key=lambda item: applications().index(wanted(item))))
    items[:] = [next(ordered) if item in here else item for item in items]
