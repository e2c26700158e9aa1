"""The container engine: what it cannot do is told as an error of the fault."""

from __future__ import annotations

import pytest
import requests
from docker.errors import APIError

from fault_injection.engine import DockerEngine
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
