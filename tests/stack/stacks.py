"""The stacks that a session of tests needs, one application at a time."""

from __future__ import annotations

import docker

from fault_injection.apps import app_named
from fault_injection.inject import open_faults
from fault_injection.testbed_system import system_of
from revelio.settings.registered_systems import register, unregister
from testbed.stack import Status, down, status, up


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
            register(app, system_of(app).model_dump(exclude_defaults=True))
            self._ready[app] = now
        return self._ready[app]

    def release(self) -> None:
        """Take down what was brought up here; nothing of it may stay."""
        if self._ours:
            app, self._ours = self._ours, ""
            project = self._ready.pop(app).project if app in self._ready else status(app).project
            down(app)
            unregister(app)
            assert remains(project) == []
