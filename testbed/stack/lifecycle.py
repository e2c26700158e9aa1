"""Brings a stack up and takes it down without a trace."""

import time

import docker

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
STAYS_ENDED = 8
"""Looks in a row after which a container that has ended, or ends again and again, is given up."""


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
        progress(Step("containers", "done", "removed"))


def _wait_until_healthy(client: docker.DockerClient, project: Project, progress: Progress) -> None:
    deadline = time.monotonic() + HEALTHY_WITHIN
    waiting = "nothing"
    ended_for: dict[str, int] = {}
    while time.monotonic() < deadline:
        found = containers(client, project.name)
        states = [container_state(container) for container in found]
        late = [state for state in states if not state.healthy]
        if states and not late:
            progress(Step("containers", "done", f"{len(states)} healthy"))
            return
        ended = {state.container for state in states if state.state in ("exited", "dead", "restarting")}
        for state, container in zip(states, found, strict=True):
            ended_for[state.container] = ended_for.get(state.container, 0) + 1 if state.container in ended else 0
            if ended_for[state.container] > STAYS_ENDED:
                said = container.logs(tail=3).decode(errors="replace").strip().replace("\n", " | ")
                raise StackError(
                    f"{state.service} does not run ({state.state}); it said: {said} (all of it: docker logs {state.container})"
                )
        waiting = ", ".join(_word(state) for state in late)
        progress(Step("containers", "running", f"{len(states) - len(late)} of {len(states)} healthy; waiting for {waiting}"))
        time.sleep(LOOK_EVERY)
    raise StackError(
        f"{project.name} is not healthy after {HEALTHY_WITHIN:.0f} s: {waiting}. See `docker logs` of it, or take the stack down"
    )


def _word(state: ContainerState) -> str:
    return f"{state.service} ({state.health or state.state})"
