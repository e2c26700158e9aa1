"""Containers: what the container runtime knows, through the Docker Engine API."""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from revelio.catalog import ToolSpec
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.telemetry import Workers
from revelio.tools.base import Limits, Scope, is_past
from revelio.tools.containers import views as container_views
from revelio.tools.containers.changes import changes_in
from revelio.tools.containers.engine import Engine
from revelio.tools.containers.state import PROJECT, SERVICE, Container, Event, ResourceLimits, known_as, names, parse
from revelio.tools.containers.views import ContainersView
from revelio.tools.containers.watch import ContainerWatch
from revelio.tools.placeholders import tree
from revelio.types import Entity, Evidence, Query, Result, Window

MAX_CONTAINERS = 200
_AT_ONCE = 8
_FORMATS = {
    "state": "{{json .State}}",
    "restarts": "{{.State.StartedAt}} {{.State.FinishedAt}} {{.RestartCount}}",
    "limits": "{{.HostConfig.NanoCpus}} {{.HostConfig.CpuQuota}} {{.HostConfig.CpuPeriod}} {{.HostConfig.Memory}}",
    "oom": "{{.State.OOMKilled}} {{.State.ExitCode}} {{.State.FinishedAt}}",
    "config": "{{.Created}} {{json .Config}}",
    "health": "{{json .State.Health}}",
}


class Containers:
    """The ``containers`` tool: the application's containers of one Compose project."""

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.name = spec.name
        self.retrospective = False
        self.backend = backend
        self.limits = limits
        self._engine = Engine(spec.name, backend.url, limits)
        self._watches: dict[str, ContainerWatch] = {}
        self._foreign: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()

    def ping(self) -> str:
        """The engine's version."""
        return f"Docker Engine {self._engine.version()}"

    def snapshot(self, scope: Scope) -> Evidence:
        """Every container of the application, and its changes since the baseline."""
        listed = self._listed(scope)
        containers, events = self._look(scope, listed, None)
        self._foreign[scope.project] = () if containers else self._of_others(scope.project)
        watch = self._watch(scope.project)
        return Evidence(
            window=scope.window,
            baseline=scope.baseline,
            entities=tuple(sorted(Entity("container", c.name) for c in containers)),
            changes=tuple(x for c in containers for x in changes_in(_since_healthy(scope), c, events, watch.limits_around)),
            aliases=known_as(listed),
        )

    def render(self, query: Query, scope: Scope) -> str:
        """The same query as a ``docker`` command."""
        view, container = self._question(query, scope)
        filters = [f"label={PROJECT}={scope.project}"]
        if container is not None:
            filters.append(f"label={SERVICE}={container}")
        chosen = " ".join(f"--filter {_shell(f)}" for f in filters)
        if view == "events":
            since = _since_healthy(scope)
            return f"docker events --since {since.start:.3f} --until {since.end:.3f} --filter type=container {chosen}"
        return f"docker inspect --format {_shell(_FORMATS[view])} $(docker ps -aq {chosen})"

    def link(self, query: Query, scope: Scope) -> str | None:
        """Docker Engine has no web page."""
        return None

    def run(self, query: Query, scope: Scope) -> Result:
        """Inspect and read events, as of the window's end."""
        view, container = self._question(query, scope)
        containers, events = self._look(scope, self._listed(scope), container)
        if container is not None and not containers:
            return Result(f"there is no container {container}", 1.0, "it is gone", kind="containers")
        around = self._watch(scope.project).limits_around
        changes = tuple(x for c in containers for x in changes_in(_since_healthy(scope), c, events, around))
        resized = tuple(
            (c.name, *around(c, x.at)) for c in containers for x in changes if (x.field, x.entity.name) == ("limits", c.name)
        )
        if is_past(scope.window) and not resized:
            containers = tuple(_as_of(c, around(c, scope.window.end)[0]) for c in containers)
        return container_views.VIEWS[view](ContainersView(containers, events, changes, scope, resized))

    def notes(self, project: str) -> tuple[str, ...]:
        """Whether the last snapshot found no container of the project, and which there are."""
        return self._foreign.get(project, ())

    def _of_others(self, project: str) -> tuple[str, ...]:
        """A sentence where containers run and none of them carries the project."""
        found = self._engine.projects()
        if not found:
            return ("no container runs",)
        named = ", ".join(f"{name} ({count})" for name, count in sorted(found.items(), key=lambda p: -p[1]) if name) or "none"
        return (f"0 of {sum(found.values())} containers carry the project {project}; projects there are: {named}",)

    def close(self) -> None:
        """Stop watching for events and close the connections."""
        with self._lock:
            for watch in self._watches.values():
                watch.close()
            self._engine.close()

    def _question(self, query: Query, scope: Scope) -> tuple[str, str | None]:
        body = tree(query, scope)
        view = str(body.get("view", "state"))
        if view not in container_views.VIEWS:
            raise SourceError(self.name, f"the query's view is {view!r}; there are: {', '.join(container_views.VIEWS)}")
        return view, str(body["container"]) if "container" in body else None

    def _watch(self, project: str) -> ContainerWatch:
        with self._lock:
            if project not in self._watches:
                self._watches[project] = ContainerWatch(self._engine, project, lambda i: self._inspect(i, ""))
            return self._watches[project]

    def _listed(self, scope: Scope) -> list[dict[str, Any]]:
        listed = self._engine.listed(scope.project)
        try:
            names(listed)
            known_as(listed)
        except (KeyError, TypeError, AttributeError) as error:
            raise SourceError(self.name, f"listed containers in an unknown form: {type(error).__name__}") from error
        return listed

    def _look(
        self, scope: Scope, listed: Sequence[Mapping[str, Any]], container: str | None
    ) -> tuple[tuple[Container, ...], tuple[Event, ...]]:
        """The application's containers (or the one named), and their events from the baseline's start until now."""
        named = names(listed)
        if container is not None:
            named = {i: name for i, name in named.items() if name == container}
        if len(named) > MAX_CONTAINERS:
            raise SourceError(self.name, f"{len(named)} containers are too many to inspect at once; at most {MAX_CONTAINERS}")
        watch = self._watch(scope.project)
        with Workers(max_workers=_AT_ONCE) as pool:
            answer = pool.submit(watch.events, named, scope.baseline.start, time.time())
            found = list(pool.map(lambda pair: self._inspect(*pair), named.items()))
            events = answer.result()
        there = tuple(sorted((c for c in found if c is not None), key=lambda c: c.name))
        for one in there:
            watch.saw(one, time.time())
        return there, events

    def _inspect(self, identity: str, name: str) -> Container | None:
        inspected = self._engine.inspected(identity)
        if inspected is None:
            return None
        try:
            return parse(inspected, name)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SourceError(self.name, f"described a container in an unknown form: {type(error).__name__}: {error}") from error


def _as_of(container: Container, limits: ResourceLimits | None) -> Container:
    """A container with the limits that it had, where they are known; else with those of now."""
    return container if limits is None else replace(container, cpus=limits.cpus, memory=limits.memory)


def _since_healthy(scope: Scope) -> Window:
    """From the baseline's end on: a change that came between it and the window, such as a deploy, belongs to the incident."""
    return Window(min(scope.baseline.end, scope.window.start), scope.window.end)


def _shell(text: str) -> str:
    return shlex.quote(text.replace("\x00", "�").encode("utf-8", errors="replace").decode())
