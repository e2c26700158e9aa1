"""Tempo: traces, by its search and then one by one. Questions are those about traces of any store."""

from __future__ import annotations

import json
import math
import re
import time
from urllib.parse import urlencode

from revelio.errors import SourceError
from revelio.support.deadline import end
from revelio.support.telemetry import Workers
from revelio.tools import links
from revelio.tools.base import Scope
from revelio.tools.fetch import StatusError
from revelio.tools.links import encodable
from revelio.tools.tempo.traces import parse_trace
from revelio.tools.traces.model import Trace
from revelio.tools.traces.tool import TraceTool, through
from revelio.tools.traces.views import Fetched, TraceQuestion
from revelio.types import Query, Window

SEARCHED = 200
"""Traces that a search finds at most; a sample of them is read."""

_AT_ONCE = 4
_RESERVE = 0.4
"""The part of a request's time in which no further trace is asked for."""

_SKIPPED = (404, 429)
"""Statuses of a trace that is left out of a sample."""

_OWN = re.compile(r"tempo(-.*)?")
"""Tempo traces itself, which is not part of the system."""

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class Tempo(TraceTool):
    """The ``tempo`` product."""

    product = "Tempo"
    snapshot_traces, run_traces = 30, 30

    def services(self) -> list[str]:
        """The names of the services that have sent spans."""
        answer = self._fetch.get("/api/search/tag/service.name/values", {})
        names = answer.get("tagValues") if isinstance(answer, dict) else None
        # An empty Tempo leaves out what it has none of.
        if not isinstance(names, list | None) or not isinstance(answer, dict) or answer.keys() - {"tagValues", "metrics"}:
            raise SourceError(self.name, f"{self.backend.url} does not answer like Tempo; is its url right?")
        return sorted(str(n) for n in names or [] if not _OWN.fullmatch(str(n)))

    def fresh(self, question: TraceQuestion, service: str, window: Window, most: int) -> Fetched:
        """A sample of the traces that a search finds: as many as are asked for, or answer in time."""
        answer = self._fetch.get("/api/search", self._params(question, service, window))
        listed = answer.get("traces") if isinstance(answer, dict) else None
        if not isinstance(listed, list | None) or not isinstance(answer, dict) or not answer.keys() & {"traces", "metrics"}:
            raise SourceError(self.name, f"{self.backend.url} does not answer like Tempo; is its url right?")
        try:
            ids = [str(one["traceID"]) for one in listed or ()]
        except (KeyError, TypeError) as error:
            raise SourceError(self.name, f"answered in a form that is not Tempo's: {type(error).__name__}") from error
        chosen = ids[:: max(1, math.ceil(len(ids) / most))]
        enough = end(self.limits.seconds) - _RESERVE * self.limits.seconds
        with Workers(max_workers=_AT_ONCE) as pool:
            read = list(pool.map(lambda trace: self._trace(trace, enough), chosen))
        traces = tuple(trace for trace in read if trace is not None and trace.spans)
        if chosen and not traces:
            raise SourceError(self.name, f"gave none of the {len(chosen)} traces that it found in time; is it overloaded?")
        return Fetched.sample(traces, len(ids) / len(traces) if traces else 1.0)

    def render(self, query: Query, scope: Scope) -> str:
        """TraceQL, and in words what is read from the traces."""
        question = self.question(query, scope)
        first, *others = (_traceql(question, service) for service in through(question) or (None,))
        lines = [first, *(f"# or, where that one sends no spans:\n{other}" for other in others)]
        if question.peer is not None:
            whose = "its calls" if not others else f"calls of {json.dumps(question.service)}"
            lines.append(f"# only {whose} to {json.dumps(question.peer)}")
        lines.append(f"# asked as: GET /api/search?{urlencode(self._params(question, question.service or 'NAME', scope.window))}")
        return "\n".join(lines)

    def link(self, query: Query, scope: Scope) -> str | None:
        """Grafana Explore, where the settings name a Grafana and the uid of this data source in it."""
        if not self.backend.grafana or not self.backend.datasource:
            return None
        question = self.question(query, scope)
        said = _traceql(question, question.service)
        return links.grafana_traces(self.backend.grafana, self.backend.datasource, said, scope.window)

    def _trace(self, trace: str, enough: float) -> Trace | None:
        """One trace; None where Tempo no longer has it, has too much to do, or the time is up."""
        if time.monotonic() > enough or not re.fullmatch(r"[0-9a-fA-F]{1,32}", trace):
            return None
        try:
            return parse_trace(trace, self._fetch.get(f"/api/traces/{trace}", {}, "application/json"))
        except StatusError as error:
            if error.status in _SKIPPED:
                return None
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise SourceError(self.name, f"answered in a form that is not Tempo's: {type(error).__name__}: {error}") from error

    def _params(self, question: TraceQuestion, service: str, window: Window) -> dict[str, str]:
        tags = {"service.name": service, **dict(question.tags)}
        if question.operation:
            tags["name"] = question.operation
        if question.view == "errors":
            tags["error"] = "true"
        params = {"tags": " ".join(f"{_key(k)}={_logfmt(v)}" for k, v in tags.items()), "limit": str(SEARCHED)}
        if question.min_duration:
            params["minDuration"] = question.min_duration
        return params | {"start": str(math.floor(window.start)), "end": str(math.ceil(window.end))}


def _traceql(question: TraceQuestion, service: str | None) -> str:
    wanted = [] if service is None else [f"resource.service.name={_text(service)}"]
    if question.operation:
        wanted.append(f"name={_text(question.operation)}")
    if question.view == "errors":
        wanted.append("status=error")
    if question.min_duration:
        wanted.append(f"duration>={question.min_duration}")
    wanted += [f".{_key(name)}={_text(value)}" for name, value in question.tags]
    return "{ " + " && ".join(wanted) + " }" if wanted else "{ }"


def _text(value: str) -> str:
    return json.dumps(encodable(value), ensure_ascii=False)


def _logfmt(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else _text(value)


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else "unreadable"
