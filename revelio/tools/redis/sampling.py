"""All of a catalog's Redis figures at one moment: INFO, the slow log's newest entry, and the queues."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

from revelio.catalog import Metric, ToolSpec
from revelio.errors import SourceError
from revelio.tools.redis.connection import Command, RefusedError, Reply, Server
from revelio.tools.samples import Sample

MAX_QUEUES = 20
SEARCH_EVERY_S = 60.0
_SEARCHES, _KEYS = 10, "1000"
DATED = ("SLOWLOG", "slow time", "LATENCY HISTORY")
"""What does not stand in INFO: logs whose entries tell their own times, and the number of such entries."""
_TERM = re.compile(r"(\w+)(?:\s*!=\s*(\w+))?")


@dataclass(frozen=True, slots=True)
class SlowCommand:
    """An entry of the slow log; ``words`` are the command and its arguments."""

    id: int
    at: float
    seconds: float
    words: tuple[str, ...]


class RedisSampler:
    """Takes samples. Queues are streams, looked for once a minute with a bounded number of requests."""

    def __init__(self, spec: ToolSpec, server: Server) -> None:
        """``spec.metrics`` says which fields of INFO make each figure."""
        self.name = spec.name
        self._server = server
        self._metrics = tuple(m for m in spec.metrics if m.entity == "redis_server" and m.query not in DATED)
        self._queues: tuple[str, ...] = ()
        self._searched = float("-inf")
        self._cursor = "0"

    def look(self, deadline: float) -> Sample:
        """One sample; ``SourceError`` when the server does not answer before the deadline."""
        if time.monotonic() - self._searched > SEARCH_EVERY_S:
            self._search(deadline)
        asks: list[Command] = [("INFO",), ("SLOWLOG", "GET", "1")]
        for queue in self._queues:
            asks += [("XLEN", queue), ("XINFO", "GROUPS", queue)]
        try:
            reply, newest, *of_queues = self._server.ask(*asks, deadline=deadline)
        except RefusedError:
            if not self._queues:
                raise
            self._queues, self._searched = (), float("-inf")  # one of them is gone, or is no stream any more
            reply, newest, *of_queues = self._server.ask(*asks[:2], deadline=deadline)
        at = time.time()
        try:
            info = fields(reply)
            values = {(m.name, self.name): v for m in self._metrics if (v := figure(m, info)) is not None}
            entries = slow_commands(newest)
            values["redis_slow_commands", self.name] = float(entries[0].id + 1 if entries else 0)
            for i, queue in enumerate(self._queues):
                length, groups = of_queues[2 * i], of_queues[2 * i + 1]
                values["redis_queue_length", f"{self.name}: {queue}"] = float(length)
                values["redis_queue_pending", f"{self.name}: {queue}"] = float(sum(int(g["pending"]) for g in tables(groups)))
            return Sample(at, values, float(info["uptime_in_seconds"]))
        except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
            why = f"answered in a form that is not Redis' ({type(error).__name__}); is its url right?"
            raise SourceError(self.name, why) from error

    def _search(self, deadline: float) -> None:
        """Go on looking for streams where the last search ended; those found before stay until they are gone."""
        found = set(self._queues)
        for _ in range(_SEARCHES):
            [reply] = self._server.ask(("SCAN", self._cursor, "COUNT", _KEYS, "TYPE", "stream"), deadline=deadline)
            try:
                cursor, keys = reply
                self._cursor = str(int(cursor))
                found |= {k.decode() for k in keys if _readable(k)}
            except (TypeError, ValueError, AttributeError) as error:
                raise SourceError(self.name, "searched its keys in a form that is not Redis'; is its url right?") from error
            if self._cursor == "0":
                break
        self._queues = tuple(sorted(found)[:MAX_QUEUES])
        self._searched = time.monotonic()


def fields(reply: Reply) -> dict[str, str]:
    """INFO's lines ``name:value``."""
    if not isinstance(reply, bytes):
        raise TypeError("INFO is text")
    lines = (line.partition(":") for line in reply.decode("utf-8", errors="replace").splitlines() if not line.startswith("#"))
    return {name: value.strip() for name, colon, value in lines if colon}


def figure(metric: Metric, info: Mapping[str, str]) -> float | None:
    """A metric's ``a + b / c`` over fields of INFO; ``a != b`` counts 1 where it holds.

    None where a field is not there, or no limit is set.
    """
    above, slash, below = metric.query.partition("/")
    value = _sum(above, info)
    if not slash or value is None:
        return value
    whole = _sum(below, info)
    return value / whole if whole else None


def slow_commands(reply: Reply) -> list[SlowCommand]:
    """The slow log's entries, newest first."""
    found = []
    for number, at, microseconds, words, *_ in reply:
        text = tuple(w.decode("utf-8", errors="replace") for w in words)
        found.append(SlowCommand(int(number), float(at), float(microseconds) / 1e6, text))
    return found


def latencies(reply: Reply) -> list[tuple[float, float]]:
    """Moments (Unix seconds) and seconds of one event of the latency monitor, the longest of each second, oldest first."""
    return [(float(at), float(milliseconds) / 1e3) for at, milliseconds in reply]


def tables(reply: Reply) -> list[dict[str, str]]:
    """A list of flat lists of names and values, as XINFO gives them."""
    found = []
    for flat in reply:
        texts = [x.decode("utf-8", errors="replace") if isinstance(x, bytes) else str(x) for x in flat]
        found.append(dict(zip(texts[::2], texts[1::2], strict=True)))
    return found


def _sum(text: str, info: Mapping[str, str]) -> float | None:
    total = 0.0
    for name, other in _TERM.findall(text):
        if name not in info:
            return None
        total += float(info[name] != other) if other else float(info[name])
    return total


def _readable(key: bytes) -> bool:
    try:
        return bool(key.decode())
    except UnicodeDecodeError:
        return False
