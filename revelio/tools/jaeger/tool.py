"""Jaeger: traces, through its query API."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from urllib.parse import urlencode

from revelio.catalog import ToolSpec
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.telemetry import Workers
from revelio.tools import links
from revelio.tools.base import Limits, Scope
from revelio.tools.fetch import TooLargeError
from revelio.tools.jaeger.traces import parse_traces
from revelio.tools.links import encodable
from revelio.tools.single_flight_cache import SingleFlightCache
from revelio.tools.traces.tool import CACHE_SIZE, CACHE_TTL_S, TraceTool, through
from revelio.tools.traces.views import Fetched, TraceQuestion
from revelio.types import Query, Window

LINKED_TRACES = 20
FEWEST_TRACES = 1
"""Traces with a call per row reach a megabyte: one of them is better than an error."""
FIRST_TRACES = 5
"""Traces that are asked for first of a service, to learn how large and slow its traces are."""
PARTS = 4
"""Parts of the time before the newest traces of which each gives a sample: what comes in bursts is not read as if it went on."""
GOOD_SIZE = 1_200_000
"""Characters of an answer that a loaded Jaeger gives within a second."""

_OWN = re.compile(r"jaeger(-.*)?")
"""Jaeger traces itself, which is not part of the system."""


class Jaeger(TraceTool):
    """The ``jaeger`` tool."""

    product = "Jaeger"

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        super().__init__(spec, backend, limits)
        self._fitting: SingleFlightCache[int] = SingleFlightCache(CACHE_SIZE, CACHE_TTL_S)

    def services(self) -> list[str]:
        """The names of the services that have sent spans."""
        answer = self._fetch.get("/api/services", {})
        names = answer.get("data") if isinstance(answer, dict) else None
        if names is not None and not isinstance(names, list):
            raise SourceError(self.name, f"{self.backend.url} does not answer like Jaeger; is its url right?")
        return sorted(str(n) for n in names or [] if not _OWN.fullmatch(str(n)))

    def render(self, query: Query, scope: Scope) -> str:
        """The request to Jaeger's query API, and in words what is read from the traces where a request cannot say it."""
        question = self.question(query, scope)
        if question.service is None:
            each = urlencode(self._params(question, "NAME", scope.window, self.snapshot_traces))
            return f"GET /api/services\n# then, for each service NAME in which requests come in:\nGET /api/traces?{each}"
        first, *others = (
            f"GET /api/traces?{urlencode(self._params(question, service, scope.window, self.run_traces))}"
            for service in through(question)
        )
        lines = [first, *(f"# or, where that one sends no spans:\n{other}" for other in others)]
        if question.peer is not None:
            whose = "its calls" if not others else f"calls of {json.dumps(question.service)}"
            lines.append(f"# only {whose} to {json.dumps(question.peer)}")
        return "\n".join(lines)

    def link(self, query: Query, scope: Scope) -> str | None:
        """Jaeger's own search page."""
        question = self.question(query, scope)
        if not self.backend.link or question.service is None:
            return None
        return links.jaeger_search(self.backend.link, self._params(question, question.service, scope.window, LINKED_TRACES))

    def fresh(self, question: TraceQuestion, service: str, window: Window, most: int) -> Fetched:
        """The newest traces, as many as fit into an answer; of the time before them a sample, part by part."""
        found = self._newest(question, service, window, min(most, self._fitting.get(service) or most))
        if found.whole:
            return found
        rest = Window(window.start, min(t.start for t in found.traces))
        cuts = [rest.start, *(rest.end - rest.seconds / 2**i for i in range(1, PARTS)), rest.end]  # shorter towards the newest
        parts = [Window(*pair) for pair in pairwise(cuts)]
        size = max(FEWEST_TRACES, len(found.traces) // PARTS)
        newest = Fetched.sample(found.traces, 1.0)
        with Workers(max_workers=PARTS) as pool:
            for part in pool.map(lambda where: self._newest(question, service, where, size), parts):
                newest = newest.joined(part)
        return newest

    def _newest(self, question: TraceQuestion, service: str, window: Window, most: int) -> Fetched:
        """The newest traces of a window; where there are more, each stands for as many as its share of the time says."""
        while True:
            try:
                answer = self._fetch.get("/api/traces", self._params(question, service, window, most))
                break
            except TooLargeError:
                most //= 4
                if most < FEWEST_TRACES:
                    raise
                self._fitting.put(service, most)
        try:
            traces = parse_traces(answer)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SourceError(self.name, f"answered in a form that is not Jaeger's: {type(error).__name__}: {error}") from error
        covered = window.end - min((t.start for t in traces), default=window.start)
        return Fetched.sample(traces, window.seconds / max(covered, 1e-3) if len(traces) >= most else 1.0)

    def prepare(self, service: str, window: Window) -> None:
        """Learn how many of its traces fit into an answer."""
        self._fitting.get_or_call(service, lambda: self._fits(service, window))

    def _fits(self, service: str, window: Window) -> int:
        """How many traces of a service make an answer of a good size, by a few of them.

        Where frameworks are instrumented, a trace has dozens of spans, and two hundred such traces take seconds.
        """
        try:
            answer = self._fetch.get("/api/traces", self._params(TraceQuestion("all", service), service, window, FIRST_TRACES))
        except TooLargeError:
            return FEWEST_TRACES
        return max(FEWEST_TRACES, min(self.snapshot_traces, FIRST_TRACES * GOOD_SIZE // len(json.dumps(answer))))

    def _params(self, question: TraceQuestion, service: str, window: Window, most: int) -> dict[str, str]:
        tags = dict(question.tags) | ({"error": "true"} if question.view == "errors" else {})
        params = {"service": encodable(service)}
        if question.operation:
            params["operation"] = encodable(question.operation)
        if tags:
            params["tags"] = encodable(json.dumps(tags, ensure_ascii=False))
        if question.min_duration:
            params["minDuration"] = question.min_duration
        return params | {"start": str(int(window.start * 1e6)), "end": str(int(window.end * 1e6)), "limit": str(most)}
