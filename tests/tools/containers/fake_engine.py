"""A container engine over HTTP that speaks as much of the Docker Engine API as reading needs."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response


def stamp(moment: float) -> str:
    """A time as the engine writes it: nine digits after the point."""
    if not moment:
        return "0001-01-01T00:00:00Z"
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "123Z"


@dataclass
class FakeContainer:
    """One container as inspecting it tells."""

    service: str
    status: str = "running"
    created: float = 1_600_000_000.0
    started: float = 1_600_000_001.0
    finished: float = 0.0
    exit_code: int = 0
    oom_killed: bool = False
    nano_cpus: int = 500_000_000
    memory: int = 268_435_456
    checks: list[tuple[float, int]] = field(default_factory=list)
    role: str | None = "app"
    number: str = "1"
    project: str = "shop"
    env: tuple[str, ...] = ("PATH=/usr/bin", "DB_PASSWORD=hunter2", "DATABASE_URL=postgresql://shop:hunter2@postgres/shop")

    @property
    def id(self) -> str:
        return f"{self.project}-{self.service}-{self.number}".encode().hex().ljust(64, "0")[:64]

    @property
    def labels(self) -> dict[str, str]:
        own = {
            "com.docker.compose.project": self.project,
            "com.docker.compose.service": self.service,
            "com.docker.compose.container-number": self.number,
            "com.docker.compose.oneoff": "False",
        }
        return own | ({"revelio.role": self.role} if self.role else {})

    def inspected(self) -> dict[str, Any]:
        log = [{"Start": stamp(at), "End": stamp(at + 0.1), "ExitCode": code, "Output": "said"} for at, code in self.checks]
        return {
            "Id": self.id,
            "Created": stamp(self.created),
            "Path": "python",
            "Args": ["-m", self.service],
            "RestartCount": 0,
            "State": {
                "Status": self.status,
                "ExitCode": self.exit_code,
                "OOMKilled": self.oom_killed,
                "Error": "",
                "StartedAt": stamp(self.started),
                "FinishedAt": stamp(self.finished),
                "Health": {"Status": "healthy", "Log": log},
            },
            "Config": {"Image": "shop:dev", "Env": list(self.env), "Labels": self.labels},
            "HostConfig": {"NanoCpus": self.nano_cpus, "CpuQuota": 0, "CpuPeriod": 0, "Memory": self.memory},
        }

    def event(self, at: float, action: str, **attributes: str) -> dict[str, Any]:
        return {
            "status": action,
            "id": self.id,
            "Type": "container",
            "Action": action,
            "Actor": {"ID": self.id, "Attributes": {**self.labels, **attributes}},
            "time": int(at),
            "timeNano": int(at * 1e9),
        }


class FakeEngine:
    """Its containers and the events that it still remembers; ``tell`` sends one to those who follow."""

    def __init__(self, server: HTTPServer) -> None:
        self.containers: list[FakeContainer] = []
        self.remembered: list[dict[str, Any]] = []
        self.closing = threading.Event()
        self._live: list[dict[str, Any]] = []
        self.url = server.url_for("").replace("http://", "tcp://").rstrip("/")
        server.expect_request("/version").respond_with_json({"ApiVersion": "1.41", "Version": "20.10.24"})
        server.expect_request("/v1.41/version").respond_with_json({"ApiVersion": "1.41", "Version": "20.10.24"})
        server.expect_request("/v1.41/containers/json").respond_with_handler(self._list)
        server.expect_request("/v1.41/events").respond_with_handler(self._events)
        server.expect_request(re.compile(r"/v1\.41/containers/[0-9a-f]{64}/json")).respond_with_handler(self._inspect)

    def tell(self, event: dict[str, Any]) -> None:
        self._live.append(event)

    def _list(self, request: Request) -> Response:
        [label] = json.loads(request.args["filters"])["label"]
        wanted = label.removeprefix("com.docker.compose.project=")
        found = [{"Id": c.id, "Labels": c.labels, "State": c.status} for c in self.containers if c.project == wanted]
        return Response(json.dumps(found), mimetype="application/json")

    def _inspect(self, request: Request) -> Response:
        identity = request.path.split("/")[-2]
        for container in self.containers:
            if container.id == identity:
                return Response(json.dumps(container.inspected()), mimetype="application/json")
        return Response('{"message":"No such container"}', status=404, mimetype="application/json")

    def _events(self, request: Request) -> Response:
        if "until" in request.args:
            since, until = float(request.args["since"]), float(request.args["until"])
            told = [e for e in self.remembered if since <= e["timeNano"] / 1e9 <= until]
            return Response("".join(json.dumps(e) + "\n" for e in told), mimetype="application/json")
        return Response(self._follow(), mimetype="application/json")

    def _follow(self) -> Iterator[str]:
        told = 0
        while not self.closing.is_set():
            for event in self._live[told:]:
                yield json.dumps(event) + "\n"
            told = len(self._live)
            time.sleep(0.02)
