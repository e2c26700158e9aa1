"""Bounded questions to the container engine, through the official SDK."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import docker
import requests
from docker.constants import DEFAULT_DOCKER_API_VERSION
from docker.errors import DockerException
from docker.types.daemon import CancellableStream
from pydantic_core import from_json
from urllib3.exceptions import HTTPError, ReadTimeoutError

from revelio.errors import SourceError
from revelio.support.deadline import end
from revelio.tools.base import Limits
from revelio.tools.bounded_body import ACCEPTED, BoundedBody, EncodingError
from revelio.tools.bounded_call import LateError, TooMuchError
from revelio.tools.containers.state import PROJECT

ACTIONS = ("create", "start", "die", "kill", "oom", "pause", "unpause", "restart", "stop", "update", "destroy", "health_status")

EVENT_BYTES = 16_384
"""The longest event that is read: one tells of a container's labels, too."""


class Engine:
    """Reads from one engine; never asks it to do anything. Safe to share between threads."""

    def __init__(self, source: str, url: str, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.source = source
        self.url = url
        self.limits = limits
        self._connected: docker.APIClient | None = None
        # A cached_property of Python 3.11 has one lock for all engines: a silent one would hold up the others.
        self._connecting = threading.Lock()

    @property
    def client(self) -> docker.APIClient:
        """The SDK's client; ``SourceError`` when the engine cannot be reached."""
        with self._connecting:
            if self._connected is None:
                self._connected = self._connect()
            return self._connected

    def _connect(self) -> docker.APIClient:
        if not self.url:
            raise SourceError(
                self.source, "no address is set for it; give its backend a url, such as unix:///var/run/docker.sock"
            )
        socket = self.url.removeprefix("unix://")
        if socket != self.url and not Path(socket).exists():
            raise self.unreachable(FileNotFoundError("there is no such socket"))
        try:
            # The SDK's own way to ask for the version, "auto", reads without limit of size.
            with closing(self._client(DEFAULT_DOCKER_API_VERSION)) as newest:
                spoken = str(self._parsed(self._read(newest, "/version", {}))["ApiVersion"])
            return self._client(spoken)
        except (DockerException, requests.RequestException, OSError, ValueError, KeyError, TypeError) as error:
            raise self.unreachable(error) from error

    def _client(self, version: str) -> docker.APIClient:
        client = docker.APIClient(base_url=self.url, version=version, timeout=self.limits.seconds)  # type: ignore[arg-type]
        client.trust_env = False  # only the engine is ever asked, no proxy of the environment
        client.headers["Accept-Encoding"] = ACCEPTED
        return client

    def close(self) -> None:
        """Close its connections."""
        if self._connected is not None:
            self._connected.close()

    def version(self) -> str:
        """The engine's version."""
        answer = self._asked("/version", {})
        return str(answer.get("Version", "of unknown version")) if isinstance(answer, dict) else "of unknown version"

    def listed(self, project: str) -> list[dict[str, Any]]:
        """All containers of a Compose project, running or not."""
        return self._listed({"label": [f"{PROJECT}={project}"]})

    def projects(self) -> dict[str, int]:
        """How many containers each Compose project has, of all that run; "" counts those without one."""
        labels = [item.get("Labels") or {} for item in self._listed({"status": ["running"]})]
        return dict(Counter(str(of.get(PROJECT, "")) for of in labels))

    def _listed(self, filters: dict[str, list[str]]) -> list[dict[str, Any]]:
        answer = self._asked("/containers/json", {"all": "true", "filters": json.dumps(filters)})
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
        text = self._read(self.client, self._versioned("/events"), params)
        try:
            return [from_json(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise SourceError(self.source, f"{self.url} told of events in a form that is not the engine's") from error

    def follow(self, project: str, start: float) -> Any:
        """Events from then on, as they happen, as lines of JSON: an iterator with ``close()``.

        It waits without limit, so it is for a thread of its own. ``ValueError`` for an event that is too long.
        """
        client = self.client
        params = {"since": str(int(start)), "filters": _filters(project)}
        address = f"{client.base_url}{self._versioned('/events')}"
        response = client.get(address, params=params, stream=True, timeout=None, allow_redirects=False)
        response.raise_for_status()
        return CancellableStream(_lines(response), response)

    def unreachable(self, error: Exception) -> SourceError:
        """For a failed connection."""
        return SourceError(
            self.source, f"cannot be reached at {self.url}: {error}; is it running, and may this user read its socket?"
        )

    def _asked(self, path: str, params: dict[str, str]) -> Any:
        return self._parsed(self._read(self.client, self._versioned(path), params))

    def _parsed(self, text: bytes) -> Any:
        try:
            return from_json(text)
        except ValueError as error:
            raise SourceError(self.source, f"{self.url} answered with something that is not JSON; is its url right?") from error

    def _versioned(self, path: str) -> str:
        return f"/v{self.client.api_version}{path}"

    def _read(self, client: docker.APIClient, path: str, params: dict[str, str]) -> bytes:
        """One bounded GET. The SDK's own methods read without limit of size, and events without limit of time."""
        address, deadline = f"{client.base_url}{path}", end(self.limits.seconds)
        wait = self.limits.seconds
        try:
            with client.get(address, params=params, stream=True, timeout=wait, allow_redirects=False) as response:
                if response.status_code == requests.codes.not_found:
                    return b"null"
                response.raise_for_status()
                return self._body(response, deadline)
        except (requests.Timeout, ReadTimeoutError, LateError) as error:
            raise self._late() from error
        except TooMuchError as error:
            why = f"answered with more than {self.limits.bytes / 1e6:g} MB; narrow the window"
            raise SourceError(self.source, why) from error
        except EncodingError as error:
            raise SourceError(self.source, f"{self.url} {error}") from error
        except (DockerException, requests.RequestException, HTTPError, OSError) as error:
            raise self.unreachable(error) from error

    def _body(self, response: requests.Response, deadline: float) -> bytes:
        encoding = response.headers.get("content-encoding")
        with BoundedBody(encoding, self.limits.bytes, self.limits.seconds) as body:
            while chunk := response.raw.read1(65536, decode_content=False):
                body.feed(chunk)
                if time.monotonic() > deadline:
                    raise self._late()
            return body.whole()

    def _late(self) -> SourceError:
        return SourceError(self.source, f"{self.url} gave no answer within {self.limits.seconds:g} s; is it overloaded?")


def _filters(project: str) -> str:
    return json.dumps({"type": ["container"], "event": list(ACTIONS), "label": [f"{PROJECT}={project}"]})


def _lines(response: requests.Response) -> Iterator[bytes]:
    begun = b""
    while part := response.raw.read1(65536, decode_content=False):
        *lines, begun = (begun + part).split(b"\n")
        if max(map(len, (*lines, begun))) > EVENT_BYTES:
            raise ValueError(f"an event is longer than {EVENT_BYTES} bytes")
        yield from (line for line in lines if line.strip())
