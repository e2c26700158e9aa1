"""Brings a stack up and takes it down without a trace."""

import time
from collections import Counter

import docker
from docker.models.containers import Container

from testbed.errors import StackError
from testbed.images import Mode, ensure, forget_replaced
from testbed.images.recipes import BACKENDS, application
from testbed.progress import Progress, Step, silent
from testbed.stack import compose, users
from testbed.stack.engine import containers, engine, remove_all
from testbed.stack.project import Project, find_project
from testbed.stack.state import ContainerState, Status, container_state, status

HEALTHY_WITHIN = 240.0
"""Seconds from Compose's return until every container must be healthy."""
LOOK_EVERY = 0.5
"""Seconds between two looks at the containers."""
ENDED = ("exited", "dead", "restarting")
STAYS_ENDED = 8
"""Looks in a row at an ended container after which it is given up: a moment's end may be a deployment."""
RESTARTS = 3
"""Restarts by the engine after which a container that is not healthy is given up."""


def up(app: str, images: Mode = "auto", with_users: bool = True, progress: Progress = silent) -> Status:
    """Have the application, its stores, backends and users running and healthy; what already runs is left alone.

    `images` says where images come from: see testbed.images.pull_or_make. Raises StackError; what was started by then stays.
    """
    project = find_project(app)
    with engine() as client:
        ensure(client, (*BACKENDS, application(app)), images, progress)
        progress(Step("containers", "running", "being started"))
        compose.run(project, "up", "--detach", "--no-build", "--remove-orphans")
        forget_replaced(client)
        _wait_until_healthy(client, project, progress)
    if with_users:
        progress(Step("users", "running", "being started"))
        users.start(project, users.users_of(project))
        progress(Step("users", "done", "running"))
    return status(app)


def down(app: str, progress: Progress = silent) -> None:
    """End the users and remove every container, network and volume of the application's project. Raises StackError."""
    project = find_project(app)
    progress(Step("users", "running", "being ended"))
    users.stop(project)
    progress(Step("users", "done", "ended"))
    with engine() as client:
        progress(Step("containers", "running", "being removed"))
        for container in containers(client, project.name):
            if container.status == "paused":
                container.unpause()
        compose.run(project, "down", "--volumes", "--remove-orphans", "--timeout", "3")
        remove_all(client, project.name)
        project.changes.unlink(missing_ok=True)
        progress(Step("containers", "done", "removed"))


def _wait_until_healthy(client: docker.DockerClient, project: Project, progress: Progress) -> None:
    deadline = time.monotonic() + HEALTHY_WITHIN
    waiting = "nothing"
    looks_ended: Counter[str] = Counter()
    while time.monotonic() < deadline:
        found = containers(client, project.name)
        late = [(state, container) for container in found if not (state := container_state(container)).healthy]
        if found and not late:
            progress(Step("containers", "done", f"{len(found)} healthy"))
            return
        looks_ended = Counter({s.container: looks_ended[s.container] + 1 for s, _ in late if s.state in ENDED})
        for state, container in late:
            if looks_ended[state.container] > STAYS_ENDED or container.attrs["RestartCount"] > RESTARTS:
                raise StackError(_last_words(state, container))
        waiting = ", ".join(f"{state.service} ({state.health or state.state})" for state, _ in late)
        progress(Step("containers", "running", f"{len(found) - len(late)} of {len(found)} healthy; waiting for {waiting}"))
        time.sleep(LOOK_EVERY)
    raise StackError(
        f"{project.name} is not healthy after {HEALTHY_WITHIN:.0f} s: {waiting}. See `docker logs` of it, or take the stack down"
    )


def _last_words(state: ContainerState, container: Container) -> str:
    said = container.logs(tail=3).decode(errors="replace").strip().replace("\n", " | ")
    return f"{state.service} does not stay up ({state.state}); it said: {said} (all of it: docker logs {state.container})"
