"""Bounded questions to the container engine, through the official SDK."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import Any

import docker
import requests
from docker.constants import DEFAULT_DOCKER_API_VERSION
from docker.errors import DockerException

from revelio.errors import SourceError
from revelio.tools.base import Limits
from revelio.tools.containers.state import PROJECT

ACTIONS = ("create", "start", "die", "kill", "oom", "pause", "unpause", "restart", "stop", "update", "destroy", "health_status")


class Engine:
    """Reads from one engine; never asks it to do anything. Safe to share between threads."""

    def __init__(self, source: str, url: str, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.source = source
        self.url = url
        self.limits = limits

    @cached_property
    def client(self) -> docker.APIClient:
        """The SDK's client; ``SourceError`` when the engine cannot be reached."""
        if not self.url:
            raise SourceError(
                self.source, "no address is set for it; give its backend a url, such as unix:///var/run/docker.sock"
            )
        socket = self.url.removeprefix("unix://")
        if socket != self.url and not Path(socket).exists():
            raise self.unreachable(FileNotFoundError("there is no such socket"))
        try:
            with closing(
                self._client(DEFAULT_DOCKER_API_VERSION)
            ) as newest:  # asked here, as "auto" leaves it open where it fails
                spoken = str(newest.version(api_version=False)["ApiVersion"])
            return self._client(spoken)
        except (DockerException, requests.RequestException, OSError, ValueError, KeyError, TypeError) as error:
            raise self.unreachable(error) from error

    def _client(self, version: str) -> docker.APIClient:
        return docker.APIClient(base_url=self.url, version=version, timeout=self.limits.seconds)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close its connections."""
        if "client" in self.__dict__:
            self.client.close()

    def version(self) -> str:
        """The engine's version."""
        answer = self._asked("/version", {})
        return str(answer.get("Version", "of unknown version")) if isinstance(answer, dict) else "of unknown version"

    def listed(self, project: str) -> list[dict[str, Any]]:
        """All containers of a Compose project, running or not."""
        wanted = json.dumps({"label": [f"{PROJECT}={project}"]})
        answer = self._asked("/containers/json", {"all": "true", "filters": wanted})
        if not isinstance(answer, list):
            raise SourceError(self.source, f"{self.url} does not answer like a container engine; is its url right?")
        return answer

    def inspected(self, container: str) -> dict[str, Any] | None:
        """Everything about one container; None when it is gone."""
        answer = self._asked(f"/containers/{container}/json", {})
        return answer if isinstance(answer, dict) else None

    def events(self, project: str, start: float, end: float) -> list[dict[str, Any]]:
        """What the engine still remembers of that time: it keeps its last 256 events of any kind."""
        params = {"since": f"{start:.9f}", "until": f"{end:.9f}", "filters": _filters(project)}
        text = self._read("/events", params)
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise SourceError(self.source, f"{self.url} told of events in a form that is not the engine's") from error

    def follow(self, project: str, start: float) -> Any:
        """Events from then on, as they happen: an iterator with ``close()``. Waits without limit, so for a thread of its own."""
        return self.client.events(since=int(start), filters=json.loads(_filters(project)), decode=True)

    def unreachable(self, error: Exception) -> SourceError:
        """For a failed connection."""
        return SourceError(
            self.source, f"cannot be reached at {self.url}: {error}; is it running, and may this user read its socket?"
        )

    def _asked(self, path: str, params: dict[str, str]) -> Any:
        try:
            return json.loads(self._read(path, params))
        except ValueError as error:
            raise SourceError(self.source, f"{self.url} answered with something that is not JSON; is its url right?") from error

    def _read(self, path: str, params: dict[str, str]) -> str:
        """One bounded GET. The SDK's own methods read without limit of size, and events without limit of time."""
        client = self.client
        deadline = time.monotonic() + self.limits.seconds
        address = f"{client.base_url}/v{client.api_version}{path}"
        try:
            with client.get(address, params=params, stream=True, timeout=self.limits.seconds) as response:
                if response.status_code == requests.codes.not_found:
                    return "null"
                response.raise_for_status()
                return b"".join(self._bounded(response.iter_content(65536), deadline)).decode("utf-8", errors="replace")
        except requests.Timeout as error:
            raise self._late() from error
        except (DockerException, requests.RequestException, OSError) as error:
            raise self.unreachable(error) from error

    def _bounded(self, chunks: Iterator[bytes], deadline: float) -> Iterator[bytes]:
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if size > self.limits.bytes:
                raise SourceError(self.source, f"answered with more than {self.limits.bytes / 1e6:g} MB; narrow the window")
            if time.monotonic() > deadline:
                raise self._late()
            yield chunk

    def _late(self) -> SourceError:
        return SourceError(self.source, f"{self.url} gave no answer within {self.limits.seconds:g} s; is it overloaded?")


def _filters(project: str) -> str:
    return json.dumps({"type": ["container"], "event": list(ACTIONS), "label": [f"{PROJECT}={project}"]})
