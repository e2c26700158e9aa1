"""A tool for a server that tells the depth of its queues now and before: ``{"orders": [2, 40]}``."""

from __future__ import annotations

from pathlib import Path

from revelio.catalog import ToolSpec
from revelio.catalog.plugins import Plugin
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits, Scope
from revelio.tools.fetch import Fetcher
from revelio.tools.placeholders import tree
from revelio.tools.probe import Probe
from revelio.types import Entity, Evidence, Query, Result, Series


class Queues:
    """The ``queues`` tool."""

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.name = spec.name
        self.retrospective = False
        self._link = backend.link
        self._fetch = Fetcher(spec.name, backend, limits)

    def ping(self) -> str:
        """How many queues there are."""
        return f"Queues, {len(self._depths())} of them"

    def snapshot(self, scope: Scope) -> Evidence:
        """The depth of every queue."""
        times = (scope.baseline.start, scope.baseline.end - 1.0, scope.window.start, scope.window.end - 1.0)
        series = tuple(
            Series(Entity("queue", name), "queue_length", "messages", times, (before, before, now, now))
            for name, (before, now) in self._depths().items()
        )
        return Evidence(scope.window, scope.baseline, tuple(s.entity for s in series), series)

    def render(self, query: Query, scope: Scope) -> str:
        """The command."""
        return "depth {queue}".format(**tree(query, scope))

    def link(self, query: Query, scope: Scope) -> str | None:
        """The page of the server."""
        return self._link or None

    def run(self, query: Query, scope: Scope) -> Result:
        """The depth of one queue."""
        name = str(tree(query, scope)["queue"])
        before, now = self._depths()[name]
        signal = 1.0 if now > 2 * before else 0.0
        reason = "twice as many" if signal else "no more than before"
        return Result(
            f"{now:g} messages wait, {before:g} before", signal, reason, columns=("queue", "messages"), rows=((name, now),)
        )

    def close(self) -> None:
        """Close the connections."""
        self._fetch.close()

    def _depths(self) -> dict[str, tuple[float, float]]:
        answer = self._fetch.get("/depths", {})
        if not isinstance(answer, dict):
            raise SourceError(self.name, "does not answer like a server of queues; is its url right?")
        return {str(name): (float(before), float(now)) for name, (before, now) in answer.items()}


PLUGIN = Plugin(Path(__file__).with_name("queues.yaml"), Queues, Probe(ports=(15999,), page=True))
