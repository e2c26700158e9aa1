"""The Docker engine, and what of it belongs to a project: everything is found by Compose's labels."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import docker
import requests
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container

from testbed.errors import StackError

PROJECT_LABEL = "com.docker.compose.project"
SERVICE_LABEL = "com.docker.compose.service"
ROLE_LABEL = "revelio.role"


@contextmanager
def engine(timeout: int = 600) -> Iterator[docker.DockerClient]:
    """The engine of the environment (`DOCKER_HOST`). Raises StackError when none answers. `timeout`: seconds a request."""
    try:
        client = docker.from_env(timeout=timeout)
        client.ping()
    except (DockerException, requests.RequestException) as error:
        raise StackError(
            "no Docker engine answers: start it (`sudo systemctl start docker`, or `sudo dockerd` where there is no systemd), "
            f"or install it (Debian packages docker.io and docker-compose); it said: {error}"
        ) from error
    try:
        yield client
    finally:
        client.close()


def containers(client: docker.DockerClient, project: str) -> list[Container]:
    """The project's containers, running or not, by service name."""
    label = f"{PROJECT_LABEL}={project}"
    found = client.containers.list(all=True, filters={"label": label}, ignore_removed=True)
    return sorted(found, key=lambda container: container.labels.get(SERVICE_LABEL, ""))


def remove_all(client: docker.DockerClient, project: str) -> None:
    """Remove every container (paused ones too), network and volume of the project that is still there. Raises StackError."""
    labelled = {"label": f"{PROJECT_LABEL}={project}"}
    try:
        for container in containers(client, project):
            with suppress(NotFound):
                container.remove(force=True, v=True)
        for network in client.networks.list(filters=labelled):
            with suppress(NotFound):
                network.remove()
        for volume in client.volumes.list(filters=labelled):
            with suppress(NotFound):
                volume.remove(force=True)
    except APIError as error:
        raise StackError(
            f"{project} cannot be taken down wholly: {error.explanation}. Try again, or see `docker ps -a`"
        ) from error
