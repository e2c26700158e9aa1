"""Packets as rows of tshark's fields, added up by flow and by a few seconds each, while they are read.

tshark dissects beside the capture and analyses TCP (retransmissions, lost segments); dpkt only decodes single packets.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from revelio.tools.base import Scope
from revelio.types import Window

FIELDS = (
    *("frame.time_epoch", "frame.interface_name", "ip.src_host", "ip.dst_host", "ipv6.src_host", "ipv6.dst_host", "frame.len"),
    *("tcp.stream", "tcp.srcport", "tcp.dstport", "tcp.flags", "tcp.len"),
    *("tcp.analysis.retransmission", "tcp.analysis.lost_segment", "tcp.analysis.zero_window"),
    *("udp.srcport", "udp.dstport", "icmp.type", "dns.id", "dns.flags.response", "dns.flags.rcode", "dns.qry.name"),
)
BUCKET_S = 5.0
MAX_FLOWS = 5_000
MAX_NAMES = 5_000
SETTLED_S = 1.0
"""A question that is younger when the capture ends may still be answered."""

_FIN, _SYN, _RST, _ACK = 0x01, 0x02, 0x04, 0x10
_UNREACHABLE = "3"


@dataclass(frozen=True, slots=True, order=True)
class Flow:
    """Client and server: the client opened the connection, or else has the higher port."""

    client: str
    server: str
    port: int
    protocol: str


@dataclass(slots=True)
class Side:
    """What one side of a flow sent within a bucket."""

    packets: int = 0
    bytes: int = 0
    resent: int = 0
    gaps: int = 0
    resets: int = 0
    zero_windows: int = 0


@dataclass(slots=True)
class Tally:
    """A flow within a bucket. ``waits`` are seconds from a request until its first byte, or until the client gave up."""

    client: Side = field(default_factory=Side)
    server: Side = field(default_factory=Side)
    syns: int = 0
    unanswered: int = 0
    refused: int = 0
    waits: list[float] = field(default_factory=list)


@dataclass(slots=True)
class _Conversation:
    flow: Flow
    client: tuple[str, str]
    syns: list[float] = field(default_factory=list)
    opened: bool = False
    asked: float | None = None


@dataclass(frozen=True, slots=True)
class Bucket:
    """A span of time; negative numbers are the baseline's."""

    number: int
    span: Window


@dataclass(frozen=True, slots=True)
class Traffic:
    """What passed over baseline and window. ``names`` counts look-ups by host, name and what came of them."""

    buckets: tuple[Bucket, ...]
    flows: dict[Flow, dict[int, Tally]]
    names: dict[tuple[str, str, str], dict[int, int]]
    packets: int
    truncated: bool


class FormError(ValueError):
    """A row is not one of tshark's."""


class Reader:
    """Takes rows in the order of time."""

    def __init__(self, scope: Scope, end: float) -> None:
        """``end`` is the moment until which packets can have been captured."""
        self._scope = scope
        self._end = min(end, scope.window.end)
        self._width = min(BUCKET_S, max(scope.window.seconds / 2.0, 0.1))
        self._last = math.ceil(scope.window.seconds / self._width) - 1
        self._flows: dict[Flow, dict[int, Tally]] = {}
        self._names: dict[tuple[str, str, str], dict[int, int]] = defaultdict(lambda: defaultdict(int))
        self._streams: dict[str, _Conversation] = {}
        self._questions: dict[tuple[str, str, str], float] = {}
        self._full = False
        self._first: float | None = None
        self.latest = 0.0
        self.packets = 0

    def take(self, line: bytes) -> None:
        """One packet; ``FormError`` when the line does not hold the fields."""
        row = line.decode("utf-8", errors="replace").split("\t")
        try:
            at, length = float(row[0]), int(row[6])
            if len(row) != len(FIELDS) or not math.isfinite(at):
                raise FormError
            if not self._scope.baseline.start <= at <= self._scope.window.end:
                return
            if self._first is None:
                self._first = at
            self.latest = max(self.latest, at)
            self.packets += 1
            if row[18]:
                self._name(row, at)
            source, target = row[2] or row[4], row[3] or row[5]
            if not source or not target or source.startswith("127."):
                return
            if row[17]:
                self._icmp(row, at, source, target, length)
            elif row[7]:
                self._tcp(row, at, source, target, length)
            elif row[15]:
                self._udp(row, at, source, target, length)
            else:
                self._add(Flow(source, target, 0, "other"), at, True, length)
        except (ValueError, IndexError) as error:
            raise FormError("a row is not tshark's") from error

    def traffic(self, truncated: bool) -> Traffic:
        """All that was taken. When it was ``truncated``, nothing is known from the latest packet on."""
        end = self.latest if truncated else self._end
        for talk in self._streams.values():
            for at in talk.syns:
                if at < end - SETTLED_S:
                    self._tally(talk.flow, at).unanswered += 1
            if talk.asked is not None and end > talk.asked:
                self._waited(talk, end)
        for (host, _, name), at in self._questions.items():
            if at < end - SETTLED_S:
                self._looked_up(host, name, "no answer", at)
        return Traffic(
            tuple(self._buckets(end)),
            self._flows,
            {key: dict(counts) for key, counts in self._names.items()},
            self.packets,
            truncated or self._full,
        )

    def number(self, at: float) -> int:
        """The bucket of a moment."""
        if at >= self._scope.window.start:
            return min(int((at - self._scope.window.start) / self._width), self._last)
        return -1 - int(max(0.0, self._scope.baseline.end - at) / self._width)

    def _buckets(self, end: float) -> Iterator[Bucket]:
        """Those of which at least half was captured, whole ones first."""
        window, baseline, width = self._scope.window, self._scope.baseline, self._width
        begin = max(baseline.start, self._first if self._first is not None else baseline.start)
        for i in reversed(range(math.ceil(baseline.seconds / width))):
            span = Window(max(begin, baseline.end - (i + 1) * width), min(end, baseline.end - i * width))
            if span.seconds >= width / 2:
                yield Bucket(-1 - i, span)
        for i in range(self._last + 1):
            span = Window(max(begin, window.start + i * width), min(end, window.start + (i + 1) * width))
            if span.seconds >= width / 2:
                yield Bucket(i, span)

    def _tally(self, flow: Flow, at: float) -> Tally:
        if flow not in self._flows and len(self._flows) >= MAX_FLOWS:
            self._full = True
            return Tally()
        buckets = self._flows.setdefault(flow, {})
        number = self.number(at)
        if number not in buckets:
            buckets[number] = Tally()
        return buckets[number]

    def _add(self, flow: Flow, at: float, from_client: bool, length: int) -> tuple[Tally, Side]:
        tally = self._tally(flow, at)
        side = tally.client if from_client else tally.server
        side.packets += 1
        side.bytes += length
        return tally, side

    def _tcp(self, row: list[str], at: float, source: str, target: str, length: int) -> None:
        flags, carried = int(row[10] or "0", 16), int(row[11] or "0")
        talk = self._streams.get(row[7])
        if talk is None:
            talk = self._streams[row[7]] = _conversation(row, source, target, flags)
        from_client = talk.client == (source, row[8])
        tally, side = self._add(talk.flow, at, from_client, length)
        side.resent += bool(row[12])
        side.gaps += bool(row[13])
        side.zero_windows += bool(row[14])
        side.resets += bool(flags & _RST)
        if flags & _SYN and not flags & _ACK and from_client:
            tally.syns += 1
            talk.syns.append(at)
        elif not from_client and talk.syns:
            tally.refused += bool(flags & _RST) and not talk.opened
            talk.opened = talk.opened or not flags & _RST
            for unheard in talk.syns[:-1]:  # it was sent again because nothing came
                self._tally(talk.flow, unheard).unanswered += 1
            talk.syns.clear()
        self._conversed(talk, at, from_client, carried, bool(flags & (_FIN | _RST)))

    def _conversed(self, talk: _Conversation, at: float, from_client: bool, carried: int, ending: bool) -> None:
        """Follow requests and answers. Who hangs up while waiting has waited until then."""
        if talk.asked is not None and ((carried and not from_client) or (ending and from_client)):
            self._waited(talk, at)
        elif ending:
            talk.asked = None
        elif carried and from_client and talk.asked is None:
            talk.asked = at

    def _waited(self, talk: _Conversation, until: float) -> None:
        """A long wait counts at the end of each bucket that it lasted through, so that it shows while it lasts."""
        asked = talk.asked if talk.asked is not None else until
        talk.asked = None
        waypoint = asked + self._width
        while waypoint < until:
            self._tally(talk.flow, waypoint).waits.append(waypoint - asked)
            waypoint += self._width
        self._tally(talk.flow, until).waits.append(until - asked)

    def _udp(self, row: list[str], at: float, source: str, target: str, length: int) -> None:
        from_client = int(row[15]) >= int(row[16])
        client, server = (source, target) if from_client else (target, source)
        self._add(Flow(client, server, min(int(row[15]), int(row[16])), "UDP"), at, from_client, length)

    def _icmp(self, row: list[str], at: float, source: str, target: str, length: int) -> None:
        """Who could not be reached tells the sender; the packet that it is about follows its own header."""
        port = int(row[9] or row[16] or 0)
        tally, _ = self._add(Flow(target, source, port, "ICMP"), at, False, length)
        tally.refused += row[17] == _UNREACHABLE

    def _name(self, row: list[str], at: float) -> None:
        """An engine's own name server is asked on the loopback; the question is passed on under the same number."""
        source, target = row[2] or row[4], row[3] or row[5]
        asking, name = row[19] not in ("1", "True"), row[21] or "?"
        local = source.startswith("127.") and target.startswith("127.")
        host = row[1] if local else source if asking else target
        key = (host, row[18], name)
        if asking:
            self._questions[key] = at
        elif key in self._questions:
            del self._questions[key]
            self._looked_up(host, name, row[20] or "0", at)

    def _looked_up(self, host: str, name: str, outcome: str, at: float) -> None:
        key = (host, name, outcome)
        if key in self._names or len(self._names) < MAX_NAMES:
            self._names[key][self.number(at)] += 1
        else:
            self._full = True


def _conversation(row: list[str], source: str, target: str, flags: int) -> _Conversation:
    near, far = int(row[8]), int(row[9])
    begins = not flags & _ACK if flags & _SYN else near >= far
    if begins:
        return _Conversation(Flow(source, target, far, "TCP"), (source, row[8]))
    return _Conversation(Flow(target, source, near, "TCP"), (target, row[9]))
