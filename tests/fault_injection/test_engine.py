"""The container engine: what it cannot do is told as an error of the fault."""

from __future__ import annotations

import os
import socket

import pytest
import requests
from docker.errors import APIError

from fault_injection.engine import DockerEngine, _established
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


def test_a_process_connections_are_those_with_other_containers_that_are_not_spared() -> None:
    table = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 100 1 0 100 0 0 10 0
   1: 0500001B:1F40 0300001B:C350 01 00000000:00000000 00:00000000 00000000     0        0 101 1 0 20 4 30 10 -1
   2: 0500001B:C351 0200001B:1538 01 00000000:00000000 00:00000000 00000000     0        0 102 1 0 20 4 30 10 -1
   3: 0500001B:C352 0400001B:10DD 01 00000000:00000000 00:00000000 00000000     0        0 103 1 0 20 4 30 10 -1
   4: 0100007F:1F40 0100007F:C353 01 00000000:00000000 00:00000000 00000000     0        0 104 1 0 20 4 30 10 -1
   5: 0500001B:C354 0200001B:1538 06 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
"""
    assert _established(table, spared=(4317,)) == {"101", "102"}
    assert _established(table, spared=()) == {"101", "102", "103"}


def test_the_connections_of_a_process_are_found_among_its_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = DockerEngine.__new__(DockerEngine)
    monkeypatch.setattr(engine, "pid", lambda _: os.getpid())
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as caller:
        assert {server.fileno(), caller.fileno()} <= engine.open_files("cart")
        # Both ends are on this machine, which no other container is.
        assert caller.fileno() not in engine.open_connections("cart")
