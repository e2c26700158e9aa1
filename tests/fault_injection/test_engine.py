"""The container engine: what it cannot do is told as an error of the fault."""

from __future__ import annotations

import os
import socket

import pytest
import requests
from docker.errors import APIError

from fault_injection.docker_engine import DockerEngine
from revelio.errors import FaultError


class _Containers:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def list(self, **_: object) -> list[object]:
        raise self._error


class _Client:
    def __init__(self, error: Exception) -> None:
        self.containers = _Containers(error)


@pytest.mark.parametrize("error", [requests.ReadTimeout("read timed out"), APIError("busy"), ProcessLookupError("gone")])
def test_an_engine_that_does_not_do_its_part_is_an_error_of_the_fault(error: Exception) -> None:
    engine = DockerEngine.__new__(DockerEngine)
    engine._project = "shop"
    engine._client = _Client(error)  # type: ignore[assignment]
    with pytest.raises(FaultError, match=r"restart.*(timed out|busy|gone)"):
        engine.restart("cart")


def test_the_connections_of_a_process_are_found_among_its_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DockerEngine.__new__(DockerEngine)
    monkeypatch.setattr(engine, "pid", lambda _: os.getpid())
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as caller:
        assert {server.fileno(), caller.fileno()} <= engine.open_files("cart")
        # Both ends are on this machine, which no other container is.
        assert caller.fileno() not in engine.open_connections("cart")
