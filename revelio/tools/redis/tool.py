"""Redis: what the server knows of its memory, clients, slow commands and queues."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from revelio.catalog import ToolSpec
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.numbers import format_count
from revelio.tools.base import Limits, Scope
from revelio.tools.placeholders import tree
from revelio.tools.redis.connection import Command, RefusedError, Reply, Server
from revelio.tools.redis.sampling import RedisSampler, fields, latencies, slow_commands, tables
from revelio.tools.sample_series import RATE_S, series_of, verdict
from revelio.tools.samples import EVERY_S, Sampler
from revelio.types import NO_ROLE, Cell, Entity, Evidence, Query, Result, Series

SERVER, QUEUE = "redis_server", "queue"
"""Kinds of entities that only this tool names: its questions are candidates where it looked, and nowhere else."""

MAX_SLOW = 128
DISK_EVENTS = ("aof-fsync-always", "aof-write")
"""Events of the latency monitor in which the server waits for its disk and answers no client."""
_PLAIN = re.compile(r"[A-Za-z0-9_.:*/+-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_KEY = re.compile(r"[A-Za-z][A-Za-z_.-]{0,40}(?::[A-Za-z][A-Za-z_.-]{0,40})*")
_FORM = "answered in a form that is not Redis'; is its url right?"


class Redis:
    """The ``redis`` tool: one application's cache and queues."""

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.name = spec.name
        self.retrospective = False
        self.spec = spec
        self.backend = backend
        self.limits = limits
        self._server = Server(spec.name, backend.url, limits)
        self._watched = Server(spec.name, backend.url, limits)
        self._sampler = Sampler(spec.name, RedisSampler(spec, self._watched).look, limits.seconds)
        self._shown = spec.shown

    def ping(self) -> str:
        """The server's version."""
        [reply] = self._server.ask(("INFO",))
        try:
            return f"Redis {fields(reply)['redis_version']}"
        except (KeyError, TypeError) as error:
            raise SourceError(self.name, f"{self._server.place} does not answer like Redis; is its url right?") from error

    def snapshot(self, scope: Scope) -> Evidence:
        """Its statistics over baseline and window: one exchange, the slow log, and the samples taken before."""
        deadline = time.monotonic() + self.limits.seconds
        samples = self._sampler.samples(deadline)
        queues = {name for r in samples[-1:] for metric, name in r.values if metric == "redis_queue_length"}
        return Evidence(
            window=scope.window,
            baseline=scope.baseline,
            entities=tuple(sorted({Entity(SERVER, self.name)} | {Entity(QUEUE, name) for name in queues})),
            series=(
                *series_of(samples, self._shown, scope),
                *self._slow_time(scope, deadline),
                *self._disk_waits(scope, deadline),
            ),
        )

    def render(self, query: Query, scope: Scope) -> str:
        """The command, as ``redis-cli`` reads it."""
        return " ".join(_quoted(word) for word in self._command(query, scope)[0])

    def link(self, query: Query, scope: Scope) -> str | None:
        """Redis has no web page."""
        return None

    def run(self, query: Query, scope: Scope) -> Result:
        """What it answers now; the signal compares the window with the baseline."""
        command, wanted = self._command(query, scope)
        deadline = time.monotonic() + self.limits.seconds
        samples = self._sampler.samples(deadline)
        series = series_of(samples, self._shown, scope)
        if any(r.metric == "redis_slow_time" for r in query.template.reads):
            series = (*series, *self._slow_time(scope, deadline))
        if any(r.metric == "redis_disk_waits" for r in query.template.reads):
            series = (*series, *self._disk_waits(scope, deadline))
        try:
            [reply] = self._server.ask(command, deadline=deadline)
        except RefusedError as error:
            return Result(f"{self.render(query, scope)}: {error.reason}", 0.0, "nothing to show", kind="table")
        try:
            columns, rows = _table(command, reply, wanted)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
            raise SourceError(self.name, _FORM) from error
        judged = verdict(query, series, self._shown, scope, self.name)
        kept = rows[: self.limits.rows]
        return Result(
            summary=judged.summary,
            signal=judged.signal,
            reason=judged.reason,
            columns=columns,
            rows=tuple(kept),
            series=judged.series,
            kind="table",
            roles=(NO_ROLE,) * len(columns),
            truncated=len(rows) > len(kept),
        )

    def close(self) -> None:
        """Stop reading and close the connections."""
        self._sampler.close()
        self._watched.close()
        self._server.close()

    def _command(self, query: Query, scope: Scope) -> tuple[Command, tuple[str, ...]]:
        """The command's words, and the fields of INFO to show; a queue's entity carries the server's name in front."""
        body = tree(_without_server(query, self.name), scope)
        words, wanted = body.get("command"), body.get("fields", [])
        if not isinstance(words, list) or not words or not isinstance(wanted, list):
            raise SourceError(self.name, "the query has to name a command as a list of words, as those in the bundled catalog do")
        return tuple(str(word) for word in words), tuple(str(field) for field in wanted)

    def _slow_time(self, scope: Scope, deadline: float) -> tuple[Series, ...]:
        """Milliseconds a second that slow commands took. The log has the time of each, so no sample is needed."""
        if not self._shows("redis_slow_time"):
            return ()
        [reply] = self._server.ask(("SLOWLOG", "GET", str(MAX_SLOW)), deadline=deadline)
        try:
            entries = slow_commands(reply)
        except (TypeError, ValueError) as error:
            raise SourceError(self.name, _FORM) from error
        since = entries[-1].at if len(entries) >= MAX_SLOW else float("-inf")
        return self._busy("redis_slow_time", [(e.at, e.seconds) for e in entries], since, scope)

    def _disk_waits(self, scope: Scope, deadline: float) -> tuple[Series, ...]:
        """Milliseconds a second for which the disk held it up; none where its monitor saw no such wait, or is not asked."""
        if not self._shows("redis_disk_waits"):
            return ()
        try:
            replies = self._server.ask(*(("LATENCY", "HISTORY", event) for event in DISK_EVENTS), deadline=deadline)
        except RefusedError:
            return ()  # not every role may, and some hosted servers refuse it
        try:
            waits = [wait for reply in replies for wait in latencies(reply)]
        except (TypeError, ValueError) as error:
            raise SourceError(self.name, _FORM) from error
        return self._busy("redis_disk_waits", waits, float("-inf"), scope) if waits else ()

    def _shows(self, metric: str) -> bool:
        return any(m.name == metric for m in self._shown)

    def _busy(self, name: str, spans: Sequence[tuple[float, float]], since: float, scope: Scope) -> tuple[Series, ...]:
        """Milliseconds a second of spans (end, seconds), as far back as they are known."""
        metric = next(m for m in self._shown if m.name == name)
        times = _grid(max(scope.baseline.start, since), scope.window.end)
        values = tuple(sum(s for end, s in spans if at - RATE_S < end <= at) * 1000.0 / RATE_S for at in times)
        return (Series(Entity(SERVER, self.name), metric.name, metric.unit, times, values),) if times else ()


def _without_server(query: Query, server: str) -> Query:
    own = {b.name for b in query.template.blanks if b.kind == QUEUE}
    bindings = tuple((n, v.removeprefix(f"{server}: ") if n in own else v) for n, v in query.bindings)
    return replace(query, bindings=bindings)


def _grid(start: float, end: float) -> tuple[float, ...]:
    return tuple(end - EVERY_S * i for i in reversed(range(int((end - start) // EVERY_S) + 1))) if end > start else ()


def _table(command: Command, reply: Reply, wanted: Sequence[str]) -> tuple[tuple[str, ...], list[tuple[Cell, ...]]]:
    """A reply as columns and rows."""
    name = " ".join(command[:2]).upper()
    if command[0].upper() == "INFO":
        info = fields(reply)
        shown: Mapping[str, str] = {f: info[f] for f in wanted if f in info} if wanted else info
        return ("field", "value"), [(field, value) for field, value in shown.items()]
    if name == "SLOWLOG GET":
        entries = [(e.at, round(e.seconds * 1000.0, 3), _masked(e.words)) for e in slow_commands(reply)]
        return ("at", "took, ms", "command"), list(entries)
    if name == "XINFO GROUPS":
        groups = tables(reply)
        columns = tuple(dict.fromkeys(key for group in groups for key in group))
        return columns, [tuple(group.get(column) for column in columns) for group in groups]
    if isinstance(reply, list):
        return ("value",), [(_text(item),) for item in reply]
    return ("value",), [(_text(reply),)]


def _text(reply: Reply) -> Cell:
    if isinstance(reply, bytes):
        return reply.decode("utf-8", errors="replace")[:500]
    return reply if reply is None or isinstance(reply, int) else str(reply)[:500]


def _masked(words: Sequence[str]) -> str:
    """A command and the readable beginning of its key; what follows may be a token or a customer's data."""
    words_shown = [words[0].upper()[:40]] if words else []
    if len(words) > 1:
        found = _KEY.match(words[1])
        whole = found is not None and found[0] == words[1]
        words_shown.append(words[1] if whole else f"{found[0]}:?" if found and ":" in words[1] else "?")
    if len(words) > 2:
        words_shown.append(f"({format_count(len(words) - 2, 'more word')})")
    return " ".join(words_shown)


def _quoted(word: str) -> str:
    """A word as ``redis-cli`` reads it."""
    if _PLAIN.fullmatch(word):
        return word
    clean = word.encode("utf-8", errors="replace").decode()
    return '"' + "".join(_ESCAPES.get(c) or (c if c.isprintable() else _bytes(c)) for c in clean) + '"'


def _bytes(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode())
