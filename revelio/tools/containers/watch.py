"""Remembers what happens to containers: an engine keeps its last 256 events only, which health checks fill in half a minute."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import requests
from docker.errors import DockerException
from pydantic_core import from_json
from urllib3.exceptions import HTTPError

from revelio.errors import SourceError
from revelio.tools.containers.engine import Engine
from revelio.tools.containers.state import Container, Event, ResourceLimits, parse_event

MEMORY = 2_000
_RETRY_S = 2.0
_PAUSE_S = 0.001
"""Between two events: an engine that floods takes no more than a part of a core."""

_ODD = (KeyError, TypeError, ValueError, AttributeError)
"""What an event in an unknown form leads to."""


class ContainerWatch:
    """Follows the engine's events of one project in a thread of its own, from the first question until it is closed."""

    def __init__(self, engine: Engine, project: str, look: Callable[[str], Container | None]) -> None:
        """``look`` inspects one container by id: a limit's new value is in no event."""
        self._engine = engine
        self._project = project
        self._look = look
        self._told: deque[bytes] = deque(maxlen=MEMORY)
        self._limits: dict[str, deque[tuple[float, ResourceLimits]]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._stream: Any = None

    def events(self, named: Mapping[str, str], start: float, end: float) -> tuple[Event, ...]:
        """Events of the named containers in that time: those remembered here, and those the engine remembers."""
        self._keep_watching()
        fresh = self._engine.events(self._project, start, min(end, time.time()))
        with self._lock:
            known = list(self._told)
        found = set()
        try:
            for told in (*map(from_json, known), *fresh):
                event = parse_event(told, named)
                if event is not None and start <= event.at <= end:
                    found.add(event)
        except _ODD as error:
            raise SourceError(self._engine.source, f"told of an event in an unknown form: {error}") from error
        return tuple(sorted(found))

    def saw(self, container: Container, at: float) -> None:
        """Remember the limits that a container had then."""
        with self._lock:
            seen = self._limits.setdefault(container.id, deque(maxlen=50))
            if not seen or seen[-1][1] != container.limits:
                seen.append((at, container.limits))

    def limits_around(self, container: Container, at: float) -> tuple[ResourceLimits | None, ResourceLimits]:
        """The limits before and after that moment; None for before where they are unknown."""
        with self._lock:
            seen = list(self._limits.get(container.id, ()))
        before = [limits for moment, limits in seen if moment < at]
        after = [limits for moment, limits in seen if moment >= at]
        return (before[-1] if before else None), (after[0] if after else container.limits)

    def close(self) -> None:
        """End the thread."""
        self._closing.set()
        if self._stream is not None:
            with contextlib.suppress(OSError, AttributeError, ValueError):  # it may be ending by itself right now
                self._stream.close()
        if self._thread is not None:
            self._thread.join(timeout=2.0)

    def _keep_watching(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._closing.clear()
                self._thread = threading.Thread(target=self._watch, name=f"watch-{self._project}", daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        since = time.time() - 600.0
        while not self._closing.is_set():
            try:
                self._stream = self._engine.follow(self._project, since)
                for line in self._stream:
                    told = from_json(line)
                    since = max(since, float(told.get("time", since)))
                    self._remember(line, told)
                    self._closing.wait(_PAUSE_S)
            except (SourceError, DockerException, requests.RequestException, HTTPError, OSError, *_ODD):
                pass  # every question asks the engine itself as well and reports what is wrong with it
            self._closing.wait(_RETRY_S)

    def _remember(self, line: bytes, told: Mapping[str, Any]) -> None:
        with self._lock:
            self._told.append(line)
        if told.get("Action") == "update":
            with contextlib.suppress(SourceError):
                container = self._look(str(told.get("id", "")))
                if container is not None:
                    self.saw(container, time.time())
