"""Captured packets as series by edge and host, and as one table by flow for each view."""

from __future__ import annotations

import ipaddress
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from revelio.catalog import Metric
from revelio.tools.base import Scope
from revelio.tools.tcpdump.packets import Flow, Side, Tally, Traffic
from revelio.types import Cell, ColumnRole, Entity, ResultKind, Series

CAPTURE, HOST, EDGE = "capture", "host", "edge"
"""Kinds of entities. Only this tool names the first two: its questions are candidates where it looked, and nowhere else."""

OUTSIDE = "host"
"""The name of clients outside the system, such as users through a published port."""

MAX_HOSTS, MAX_EDGES = 200, 500
_NO_ERROR = "0"
_OUTCOMES = {"1": "malformed", "2": "server failed", "3": "no such name", "4": "not implemented", "5": "refused"}

Columns = tuple[str, ...]
Rows = list[tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class Hosts:
    """The system's hosts, and its edges from the one who connects to the one who answers."""

    hosts: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]


def inventory(traffic: Traffic) -> Hosts:
    """Those with most packets, in the order of their names. Where any host has a name, an address without one is outside."""
    packets: dict[str, int] = defaultdict(int)
    calls: dict[tuple[str, str], int] = defaultdict(int)
    for flow, buckets in traffic.flows.items():
        count = sum(t.client.packets + t.server.packets for t in buckets.values())
        packets[flow.client] += count
        packets[flow.server] += count
        if flow.protocol == "TCP" and OUTSIDE not in (flow.client, flow.server):
            calls[flow.client, flow.server] += count
    named = {host for host in (*packets, *(h for h, _, _ in traffic.names)) if host and is_name(host) and host != OUTSIDE}
    inside = named or {host for host in packets if host != OUTSIDE}
    hosts = sorted(inside, key=lambda h: (-packets.get(h, 0), h))[:MAX_HOSTS]
    # A server without a name stays the end of an edge: it may be the fault.
    edges = sorted((e for e in calls if e[0] in inside), key=lambda e: (-calls[e], e))[:MAX_EDGES]
    return Hosts(tuple(sorted(hosts)), tuple(sorted(edges)))


@lru_cache(maxsize=10_000)
def is_name(host: str) -> bool:
    """Whether it is more than an address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def series_of(traffic: Traffic, metrics: Iterable[Metric]) -> tuple[Series, ...]:
    """A point a bucket for each of these metrics and each host or edge that has it."""
    found = inventory(traffic)
    of_edge: dict[str, list[Flow]] = {f"{a}->{b}": [] for a, b in found.edges}
    of_host: dict[str, list[Flow]] = {host: [] for host in found.hosts}
    for flow in traffic.flows:
        if flow.protocol != "other" and (members := of_edge.get(f"{flow.client}->{flow.server}")) is not None:
            members.append(flow)
        for host in {flow.client, flow.server}:
            if host in of_host:
                of_host[host].append(flow)
    made = []
    for metric in metrics:
        members_of = of_edge if metric.entity == EDGE else of_host if metric.entity == HOST else {}
        for name, flows in members_of.items():
            made.append(_one(traffic, metric, name, flows))
    return tuple(s for s in made if s.times)


def _one(traffic: Traffic, metric: Metric, name: str, flows: Sequence[Flow]) -> Series:
    points = []
    for bucket in traffic.buckets:
        tallies = [(f, t) for f in flows if (t := traffic.flows[f].get(bucket.number)) is not None]
        value = _MEASURES[metric.name](traffic, name, tallies, bucket.number) if metric.name in _MEASURES else None
        if value is not None:
            points.append(
                ((bucket.span.start + bucket.span.end) / 2.0, value / (1.0 if metric.unit == "s" else bucket.span.seconds))
            )
    return Series(
        Entity(metric.entity, name), metric.name, metric.unit, tuple(at for at, _ in points), tuple(v for _, v in points)
    )


_Tallies = Sequence[tuple[Flow, Tally]]
_Measure = Callable[[Traffic, str, _Tallies, int], float | None]


def _of_both(count: Callable[[Side], float]) -> _Measure:
    return lambda traffic, name, tallies, number: float(sum(count(t.client) + count(t.server) for _, t in tallies))


def _zero_windows(traffic: Traffic, name: str, tallies: _Tallies, number: int) -> float:
    return float(sum(side_of(flow, tally, name).zero_windows for flow, tally in tallies))


def _failed_look_ups(traffic: Traffic, name: str, tallies: _Tallies, number: int) -> float:
    counts = traffic.names.items()
    return float(sum(c.get(number, 0) for (host, _, outcome), c in counts if host == name and outcome != _NO_ERROR))


def _slowest(traffic: Traffic, name: str, tallies: _Tallies, number: int) -> float | None:
    return percentile([w for _, t in tallies for w in t.waits])


_MEASURES: Mapping[str, _Measure] = {
    "tcp_retransmissions": _of_both(lambda side: side.resent + side.gaps),
    "tcp_resets": _of_both(lambda side: side.resets),
    "tcp_unanswered_syns": lambda traffic, name, tallies, number: float(sum(t.unanswered for _, t in tallies)),
    "tcp_first_byte_p95": _slowest,
    "tcp_zero_windows": _zero_windows,
    "connections_refused": lambda traffic, name, tallies, number: float(sum(t.refused for _, t in tallies)),
    "dns_failures": _failed_look_ups,
    "flow_bytes": _of_both(lambda side: side.bytes),
}
MEASURED = frozenset(_MEASURES)


def percentile(values: Sequence[float], share: float = 0.95) -> float | None:
    """The smallest that at least this share of them does not exceed; None of none."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def side_of(flow: Flow, tally: Tally, host: str) -> Side:
    """What a host sent; nothing when it is not of this flow."""
    return tally.client if flow.client == host else tally.server if flow.server == host else Side()


@dataclass(frozen=True, slots=True)
class _Sums:
    """A flow's tallies before and now."""

    flow: Flow
    before: tuple[Tally, ...]
    now: tuple[Tally, ...]

    def counts(self, count: Callable[[Tally], float]) -> tuple[int, int]:
        """Now and before."""
        return int(sum(map(count, self.now))), int(sum(map(count, self.before)))


def _between(traffic: Traffic, ends: Sequence[str]) -> list[_Sums]:
    """The flows of one host, or those between two."""
    wanted, found = set(ends), []
    for flow, buckets in traffic.flows.items():
        if wanted <= {flow.client, flow.server}:
            before = tuple(t for number, t in buckets.items() if number < 0)
            found.append(_Sums(flow, before, tuple(t for number, t in buckets.items() if number >= 0)))
    return found


@dataclass(frozen=True, slots=True)
class FlowTable:
    """Rows by flow, or by name that was looked up; ``measure`` is what ``now`` and ``before`` count or measure."""

    columns: Columns
    roles: tuple[ColumnRole, ...]
    rows: Rows
    measure: str = ""
    kind: ResultKind = "flows"


View = Callable[[Traffic, Sequence[str], Scope], FlowTable]
_COUNTED: tuple[ColumnRole, ...] = ("source", "target", "port", "protocol", "now", "before", "")


def _events(words: str, client: Callable[[Tally], float], server: Callable[[Tally], float]) -> View:
    """A table of one kind of event by flow and by who sent it."""

    def table(traffic: Traffic, ends: Sequence[str], scope: Scope) -> FlowTable:
        rows: Rows = []
        for sums in _between(traffic, ends):
            flow = sums.flow
            for source, target, count, packets in (
                (flow.client, flow.server, client, lambda t: t.client.packets),
                (flow.server, flow.client, server, lambda t: t.server.packets),
            ):
                now, before = sums.counts(count)
                if now or before:
                    rows.append((source, target, flow.port, flow.protocol, now, before, sums.counts(packets)[0]))
        columns = ("sent by", "to", "service's port", "protocol", _now(words, scope), _before(words, scope), "of packets")
        return FlowTable(columns, _COUNTED, _largest(rows, 4), words)

    return table


def _attempts(words: str, count: Callable[[Tally], float]) -> View:
    """A table of connections that did not come about."""

    def table(traffic: Traffic, ends: Sequence[str], scope: Scope) -> FlowTable:
        rows: Rows = []
        for sums in _between(traffic, ends):
            now, before = sums.counts(count)
            if now or before:
                flow = sums.flow
                rows.append((flow.client, flow.server, flow.port, flow.protocol, now, before, sums.counts(lambda t: t.syns)[0]))
        columns = ("from", "to", "port", "protocol", _now(words, scope), _before(words, scope), "SYNs now")
        return FlowTable(columns, _COUNTED, _largest(rows, 4), words)

    return table


def _answers(traffic: Traffic, ends: Sequence[str], scope: Scope) -> FlowTable:
    rows: Rows = []
    for sums in _between(traffic, ends):
        now, before = ([w for t in tallies for w in t.waits] for tallies in (sums.now, sums.before))
        if now or before:
            flow = sums.flow
            shown = [
                None if (v := percentile(x, s)) is None else round(v * 1000.0, 1) for x in (now, before) for s in (0.5, 0.95, 1.0)
            ]
            rows.append((flow.client, flow.server, flow.port, len(now), len(before), *shown))
    spans = [f"{figure}, ms, {when}" for when in ("now", "before") for figure in ("median", "p95", "longest")]
    columns = ("from", "to", "port", _now("requests", scope), _before("requests", scope), *spans)
    roles: tuple[ColumnRole, ...] = ("source", "target", "port", "", "", "", "now", "", "", "before", "")
    return FlowTable(columns, roles, _largest(rows, 6), "response time p95")


def _look_ups(traffic: Traffic, ends: Sequence[str], scope: Scope) -> FlowTable:
    rows: Rows = []
    for (host, name, outcome), counts in traffic.names.items():
        if host in ends:
            now, before = (sum(c for n, c in counts.items() if (n >= 0) is window) for window in (True, False))
            answer = "found" if outcome == _NO_ERROR else _OUTCOMES.get(outcome, outcome)
            rows.append((host, name[:255], answer, now, before))
    rows.sort(key=lambda row: (row[2] == "found", -int(row[3] or 0), str(row[1])))
    columns = ("asked by", "name", "answer", _now("times", scope), _before("times", scope))
    return FlowTable(columns, ("source", "name", "answer", "now", "before"), rows, kind="name_lookups")


def _talk(traffic: Traffic, ends: Sequence[str], scope: Scope) -> FlowTable:
    rows: Rows = []
    lengths = [sum(b.span.seconds for b in traffic.buckets if (b.number >= 0) is window) or 1.0 for window in (True, False)]
    for sums in _between(traffic, ends):
        flow = sums.flow
        sent, got = sums.counts(lambda t: t.client.bytes), sums.counts(lambda t: t.server.bytes)
        packets = sums.counts(lambda t: t.client.packets + t.server.packets)
        now, before = (round((sent[i] + got[i]) / lengths[i], 1) for i in (0, 1))
        rows.append((flow.client, flow.server, flow.port, flow.protocol, now, before, sent[0], got[0], packets[0]))
    columns = ("from", "to", "port", "protocol", "bytes/s now", "bytes/s before", "bytes there", "bytes back", "packets now")
    roles: tuple[ColumnRole, ...] = (*_COUNTED[:6], "", "", "")
    return FlowTable(columns, roles, _largest(rows, 4), "traffic")


VIEWS: Mapping[str, View] = {
    "retransmissions": _events(
        "retransmissions", lambda t: t.client.resent + t.client.gaps, lambda t: t.server.resent + t.server.gaps
    ),
    "resets": _events("resets", lambda t: t.client.resets, lambda t: t.server.resets),
    "zero_windows": _events("zero windows", lambda t: t.client.zero_windows, lambda t: t.server.zero_windows),
    "unanswered_syns": _attempts("unanswered SYNs", lambda t: t.unanswered),
    "refused": _attempts("refused connections", lambda t: t.refused),
    "slow_answers": _answers,
    "dns_failures": _look_ups,
    "flows": _talk,
}


def _now(words: str, scope: Scope) -> str:
    return f"{words} in the last {scope.window.seconds:.0f} s"


def _before(words: str, scope: Scope) -> str:
    return f"in {scope.baseline.seconds:.0f} s before"


def _largest(rows: Rows, column: int) -> Rows:
    return sorted(rows, key=lambda row: (-float(row[column] or 0), -float(row[column + 1] or 0), str(row[0]), str(row[1])))
