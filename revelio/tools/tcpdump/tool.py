"""Packet captures, read by tshark: flows between hosts, their errors and response times."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from dataclasses import dataclass
from typing import cast

from revelio.catalog import ToolSpec
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.bounded_yaml import read_yaml
from revelio.support.numbers import format_count
from revelio.tools.base import Limits, Scope
from revelio.tools.bounded_call import LateError, TooMuchError
from revelio.tools.placeholders import tree, values
from revelio.tools.sample_series import verdict
from revelio.tools.single_flight_cache import SingleFlightCache
from revelio.tools.tcpdump.capture import Capture, lines, open_capture
from revelio.tools.tcpdump.filter import filled
from revelio.tools.tcpdump.packets import FIELDS, FormError, Reader, Traffic
from revelio.tools.tcpdump.views import CAPTURE, EDGE, HOST, MEASURED, VIEWS, inventory, series_of
from revelio.types import Entity, Evidence, Query, Result, Window

MAX_PACKETS = 200_000
"""Packets of one pass: tshark keeps state of each, and shares memory with the capture."""

BYTES_A_PACKET = 400
ENOUGH_S = 3.0
"""How much of the window has to be read for an answer when the time is up."""

SHARE = 0.9
"""How much of the limit of time reading may take; the rest is for adding up."""

SNAPSHOT_S = 18.0
"""A snapshot reads this much of the baseline's end and of the window's: a second of packets costs it some 30 ms."""

_SETTLING_S = 1.0
"""A packet can be read about this long after it passed."""

_KEPT_S = 120.0

# Only the headers are wanted: what is inside of TCP is neither looked at nor put together.
_PASS = (
    *("-Q", "-c", str(MAX_PACKETS), "-d", "tcp.port==1-65535,data"),
    *("-o", "tcp.desegment_tcp_streams:FALSE", "-o", "tcp.track_bytes_in_flight:FALSE", "-o", "tcp.calculate_timestamps:FALSE"),
    *("-T", "fields", "-E", "separator=/t", "-E", "occurrence=f"),
    *(word for name in FIELDS for word in ("-e", name)),
)


@dataclass(frozen=True, slots=True)
class _Question:
    """The body of a template: its view, the hosts that it is about, and the tshark options that show the same."""

    view: str
    ends: tuple[str, ...]
    options: tuple[str, ...]


class Tcpdump:
    """The ``tcpdump`` tool: one rolling capture. All questions about the same time share one pass of tshark."""

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.name = spec.name
        self.retrospective = True
        self.spec = spec
        self.backend = backend
        self.limits = limits
        self._shown = tuple(m for m in spec.shown if m.name in MEASURED)
        self._known: SingleFlightCache[Traffic] = SingleFlightCache(4, _KEPT_S)
        self._turn = threading.Lock()

    def ping(self) -> str:
        """tshark's version, and whether there is anything for it to read."""
        capture, deadline = self._capture(), time.monotonic() + self.limits.seconds
        try:
            return capture.version(deadline)
        except LateError as error:
            raise self._late() from error

    def snapshot(self, scope: Scope) -> Evidence:
        """Hosts, edges and their figures over the last of baseline and window, by one pass of tshark."""
        traffic = self._traffic(_latest(scope))
        found = inventory(traffic)
        hosts = {Entity(HOST, host) for host in found.hosts}
        edges = {Entity(EDGE, f"{a}->{b}") for a, b in found.edges}
        return Evidence(
            window=scope.window,
            baseline=scope.baseline,
            entities=tuple(sorted({Entity(CAPTURE, self.name)} | hosts | edges)),
            series=series_of(traffic, self._shown),
        )

    def render(self, query: Query, scope: Scope) -> str:
        """A command line with tshark's options, its display filter among them."""
        question = self._question(query, scope)
        start, end = scope.window.start, scope.window.end
        if not self.backend.url:
            return open_capture(self.name, "file:///var/captures", self.limits).command(start, end, question.options)
        return self._capture().command(start, end, question.options)

    def link(self, query: Query, scope: Scope) -> str | None:
        """A capture has no page."""
        return None

    def run(self, query: Query, scope: Scope) -> Result:
        """The packets that it is about, added up by flow; the signal compares the window with the baseline."""
        question = self._question(query, scope)
        traffic = self._traffic(scope)
        table = VIEWS[question.view](traffic, question.ends, scope)
        judged = verdict(query, series_of(traffic, self._shown), self._shown, scope, "->".join(question.ends))
        kept = table.rows[: self.limits.rows]
        seen = f"{format_count(traffic.packets, 'packet')} read"
        return Result(
            summary=f"{judged.summary}; {seen}{', cut off' if traffic.truncated else ''}",
            signal=judged.signal,
            reason=judged.reason,
            columns=table.columns,
            rows=tuple(kept),
            series=judged.series,
            truncated=traffic.truncated or len(table.rows) > len(kept),
            kind=table.kind,
            roles=table.roles,
            measure=table.measure,
        )

    def _capture(self) -> Capture:
        if not self.backend.url:
            raise SourceError(
                self.name, "no address is set for it; give its backend a url, such as docker:///CONTAINER or file:///var/captures"
            )
        return open_capture(self.name, self.backend.url, self.limits)

    def _question(self, query: Query, scope: Scope) -> _Question:
        body = tree(query, scope)
        view, ends, options = str(body.get("view")), body.get("between"), body.get("tshark")
        if view not in VIEWS:
            raise SourceError(self.name, f"the query's view is {view!r}; there are: {', '.join(VIEWS)}")
        if not isinstance(ends, list) or not 1 <= len(ends) <= 2 or not isinstance(options, list):
            raise SourceError(
                self.name, "the query has to name one or two hosts under `between`, and tshark's options under `tshark`"
            )
        plain = cast(list[object], read_yaml(query.template.body)["tshark"])
        known = values(query, scope)
        return _Question(view, tuple(str(end) for end in ends), tuple(filled(str(word), known) for word in plain))

    def _traffic(self, scope: Scope) -> Traffic:
        """The traffic of a scope, read once for all queries; one pass at a time."""
        deadline = time.monotonic() + self.limits.seconds
        if not self._turn.acquire(timeout=self.limits.seconds):
            raise self._late()
        try:
            key = repr((scope.baseline, scope.window))
            known = self._known.get(key)
            if known is None:
                known = self._read(scope, deadline)
                self._known.put(key, known)
            return known
        finally:
            self._turn.release()

    def _read(self, scope: Scope, deadline: float) -> Traffic:
        reader = Reader(scope, time.time() - _SETTLING_S)
        until = time.monotonic() + SHARE * max(0.0, deadline - time.monotonic())
        try:
            complete = self._take_all(reader, scope, until)
        except FormError as error:
            raise SourceError(self.name, f"tshark in {self._capture().place} answered in a form that is not its own") from error
        if not complete and reader.latest < min(scope.window.start + ENOUGH_S, scope.window.end):
            raise self._late()
        return reader.traffic(truncated=not complete)

    def _take_all(self, reader: Reader, scope: Scope, until: float) -> bool:
        """Whether all packets were read before the time was up."""
        output = self._capture().output(scope.baseline.start, scope.window.end, _PASS, until)
        with closing(output):
            try:
                for line in lines(output, MAX_PACKETS * BYTES_A_PACKET):
                    if reader.packets >= MAX_PACKETS:
                        return False
                    reader.take(line)
            except (LateError, TooMuchError):
                return False
        return reader.packets < MAX_PACKETS

    def _late(self) -> SourceError:
        return SourceError(
            self.name,
            f"read no packets of the window within {self.limits.seconds:g} s; narrow the window, or give its tshark more CPU",
        )


def _latest(scope: Scope) -> Scope:
    def end_of(window: Window) -> Window:
        return Window(max(window.start, window.end - SNAPSHOT_S), window.end)

    return Scope(scope.project, end_of(scope.window), end_of(scope.baseline))
