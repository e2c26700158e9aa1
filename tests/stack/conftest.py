"""Brings the real stack up for these tests where it is not up yet, and then takes it down to the last network."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest

from fault_injection.apps import app_named
from fault_injection.inject import open_faults
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


@pytest.fixture(scope="session", autouse=True)
def running_stack() -> Iterator[Status]:
    """The shop with every backend and its users."""
    now = status("shop")
    ours = not (now.up and all(user.pid for user in now.users))
    yield up("shop") if ours else now
    assert open_faults(app_named("shop")) == ()
    if ours:
        down("shop")
        assert remains(now.project) == []
