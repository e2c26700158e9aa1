"""The containers of one Compose project, as the engine tells of them through its socket."""

import http.client
import json
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

PROJECT, SERVICE, NUMBER = "com.docker.compose.project", "com.docker.compose.service", "com.docker.compose.container-number"
ROLE = "revelio.role"


class EngineError(OSError):
    """The engine does not answer, or answers that it cannot."""


class _Connection(http.client.HTTPConnection):
    """HTTP over the engine's socket."""

    def __init__(self, address: str, timeout: float | None) -> None:
        super().__init__("localhost")
        self.address, self.seconds = address, timeout

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.seconds)
        self.sock.connect(self.address)


class Engine:
    """Asks one engine; changes nothing in it."""

    def __init__(self, address: str = "/var/run/docker.sock") -> None:
        """Connects to nothing yet."""
        self.address = address

    def ask(self, path: str, filters: Mapping[str, list[str]] | None = None, **parameters: str) -> Any:
        """One answer, within 5 s. Raises EngineError."""
        connection = _Connection(self.address, 5.0)
        try:
            return json.loads(self._open(connection, path, filters, parameters).read())
        except (http.client.HTTPException, OSError, ValueError) as error:
            raise EngineError(f"{path}: {error}") from error
        finally:
            connection.close()

    def follow(self, since: float, filters: Mapping[str, list[str]]) -> Iterator[dict[str, Any]]:
        """Events from then on as they happen, without end. Raises EngineError when the connection is lost."""
        connection = _Connection(self.address, None)
        try:
            for line in self._open(connection, "/events", filters, {"since": f"{since:.9f}"}):
                yield json.loads(line)
        except (http.client.HTTPException, OSError, ValueError) as error:
            raise EngineError(f"/events: {error}") from error
        finally:
            connection.close()

    def _open(
        self, connection: _Connection, path: str, filters: Mapping[str, list[str]] | None, parameters: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        query = urlencode({**parameters, **({"filters": json.dumps(filters)} if filters else {})})
        connection.request("GET", f"{path}?{query}")
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise EngineError(f"{path}: {response.status} {response.reason}")
        return response


@dataclass(frozen=True, slots=True)
class Container:
    """A container of the project. `name` is its Compose service, numbered where there are several; `pid` is 0 unless it runs."""

    id: str
    name: str
    role: str
    pid: int
    addresses: tuple[str, ...]


class Containers:
    """The containers of one project, asked for again once the last answer is `lifetime` seconds old."""

    def __init__(self, engine: Engine, project: str, lifetime: float = 2.0) -> None:
        """Connects to nothing yet."""
        self._engine, self._project, self._lifetime = engine, project, lifetime
        self._known: tuple[Container, ...] = ()
        self._asked = -lifetime
        self._pids: dict[str, int] = {}

    def running(self) -> tuple[Container, ...]:
        """Those with a process, paused ones too. Raises EngineError."""
        if time.monotonic() - self._asked >= self._lifetime:
            self._known = self._look()
            self._asked = time.monotonic()
        return self._known

    def forget(self) -> None:
        """Ask again next time."""
        self._asked = -self._lifetime

    def _look(self) -> tuple[Container, ...]:
        wanted = {"label": [f"{PROJECT}={self._project}"], "status": ["running", "paused"]}
        listed = self._engine.ask("/containers/json", wanted)
        self._pids = {item["Id"]: pid for item in listed if (pid := self._pid(item["Id"]))}
        return tuple(sorted((found(item, self._pids.get(item["Id"], 0)) for item in listed), key=lambda c: c.name))

    def _pid(self, identity: str) -> int:
        """The process of a container: a restart gives it another, which only an inspection tells."""
        known = self._pids.get(identity, 0)
        if known and _is_of(known, identity):
            return known
        try:
            return int(self._engine.ask(f"/containers/{identity}/json")["State"]["Pid"])
        except EngineError:
            return 0


def found(listed: Mapping[str, Any], pid: int = 0) -> Container:
    """A container from the engine's list."""
    labels = listed["Labels"]
    number = labels.get(NUMBER, "1")
    networks = (listed.get("NetworkSettings") or {}).get("Networks") or {}
    return Container(
        id=listed["Id"],
        name=labels[SERVICE] if number == "1" else f"{labels[SERVICE]}-{number}",
        role=labels.get(ROLE, ""),
        pid=pid,
        addresses=tuple(sorted(network["IPAddress"] for network in networks.values() if network.get("IPAddress"))),
    )


def _is_of(pid: int, identity: str) -> bool:
    try:
        return identity in Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return False
