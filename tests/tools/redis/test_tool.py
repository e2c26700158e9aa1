"""Redis: only commands that read are sent, names stay arguments, and a bad server is an error in time."""

from __future__ import annotations

import re
import time
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.catalog import bundled_catalog
from revelio.catalog.candidates import candidates
from revelio.catalog.unreachable import asks_presence, presence
from revelio.errors import SourceError
from revelio.settings import Backend, SystemSettings
from revelio.systems.system import open_system
from revelio.tools.redis.connection import Command, RefusedError, Reply, Server
from revelio.tools.redis.sampling import fields, figure, slow_commands
from revelio.tools.redis.tool import SERVER, Redis, _masked
from revelio.tools.sample_series import verdict
from revelio.types import Entity, Query, QueryTemplate, Series
from tests.tools.conftest import QUICK, SCOPE, bound, filled, hostile, spec
from tests.tools.test_fetch import raw_server


def tool(url: str = "") -> Redis:
    return Redis(spec("redis"), Backend(url=url), QUICK)


def words(line: str) -> list[str]:
    """A line's words as ``redis-cli`` reads them (its ``sdssplitargs``)."""
    found = []
    for plain, quoted in re.findall(r'([^\s"]+)|"((?:\\x[0-9a-f]{2}|\\.|[^"\\])*)"', line):
        raw = re.sub(
            rb"\\(x[0-9a-f]{2}|.)",
            lambda m: bytes([int(m[1][1:], 16)]) if len(m[1]) > 1 else {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(m[1], m[1]),
            quoted.encode(),
        )
        found.append(plain or raw.decode())
    return found


@given(hostile())
def test_a_name_is_one_argument_whatever_it_holds(name: str) -> None:
    [query] = [q for q in filled("redis", name) if q.template.id == "redis.queue"]
    line = tool().render(query, SCOPE)
    assert "\n" not in line
    assert words(line) == ["XINFO", "GROUPS", name.encode("utf-8", errors="replace").decode()]


def test_a_queues_name_is_its_key_without_the_servers() -> None:
    assert tool().render(bound("redis.queue", queue="redis: queue:mail"), SCOPE) == "XINFO GROUPS queue:mail"


def test_every_bundled_template_leaves_no_hole_open() -> None:
    for query in filled("redis", "redis"):
        if presence(query):
            continue  # a system renders it, whatever its tool
        assert "${" not in tool().render(query, SCOPE), query.template.id


@pytest.mark.parametrize(
    "command",
    [
        ("SET", "a", "b"),
        ("set", "a", "b"),
        ("FLUSHALL",),
        ("SLOWLOG", "RESET"),
        ("XINFO", "HELP"),
        ("CONFIG", "SET", "maxmemory", "1"),
        ("LATENCY", "RESET"),
        ("EVAL", "return 1", "0"),
        ("XINFO",),
        ("DEBUG", "SLEEP", "9"),
        (),
    ],
)
def test_a_command_that_might_write_is_never_sent(command: tuple[str, ...]) -> None:
    with pytest.raises(SourceError, match="it might write"):
        Server("redis", "redis://127.0.0.1:9", QUICK).ask(command)


@given(st.lists(st.text(max_size=12), max_size=4).map(tuple))
def test_what_is_not_known_to_read_is_refused_before_anything_is_connected(command: tuple[str, ...]) -> None:
    with pytest.raises(SourceError, match=r"might write|no address"):
        Server("redis", "", QUICK).ask(command)


def test_figures_are_sums_and_shares_of_fields() -> None:
    info = fields(b"# Memory\r\nused_memory:50\r\nmaxmemory:200\r\nrdb:err\r\naof:ok\r\nnone:0\r\n")
    metrics = {m.name: m for m in spec("redis").metrics}

    def of(query: str) -> float | None:
        from dataclasses import replace

        return figure(replace(metrics["redis_clients"], query=query), info)

    assert of("used_memory / maxmemory") == 0.25
    assert of("used_memory + maxmemory") == 250.0
    assert of("rdb != ok + aof != ok") == 1.0
    assert of("used_memory / none") is None
    assert of("not_there") is None


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["get", "session:8f3a9c"], "GET session:?"),
        (["HGETALL", "cart:7:mary@example.org", "x", "y"], "HGETALL cart:? (2 more words)"),
        (["KEYS", "*"], "KEYS ?"),
        (["XADD", "queue:order-placed", "*", "body", "secret"], "XADD queue:order-placed (3 more words)"),
        (["GET", "8f3a9c"], "GET ?"),
        ([], ""),
    ],
)
def test_a_slow_command_is_shown_without_what_it_carries(command: list[str], shown: str) -> None:
    assert _masked(command) == shown


def test_the_slow_log_is_read_as_redis_7_writes_it() -> None:
    [entry] = slow_commands([[14, 1_700_000_000, 250_000, [b"GET", b"a\xff"], b"127.0.0.1:1", b""]])
    assert (entry.id, entry.at, entry.seconds, entry.words) == (14, 1_700_000_000.0, 0.25, ("GET", "a�"))


def told_of_waits(monkeypatch: pytest.MonkeyPatch, answer: list[Reply] | RefusedError) -> tuple[Series, ...]:
    """What the tool makes of the latency monitor's answer."""

    def ask(*commands: Command, deadline: float | None = None) -> list[Reply]:
        assert {c[:2] for c in commands} == {("LATENCY", "HISTORY")}
        if isinstance(answer, RefusedError):
            raise answer
        return answer

    asked = tool()
    monkeypatch.setattr(asked._server, "ask", ask)
    return asked._disk_waits(SCOPE, 0.0)


def test_a_disk_that_holds_the_server_up_shows_in_milliseconds_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    end = int(SCOPE.window.end)
    fsyncs = [[end - second, 900] for second in range(8, 0, -1)]
    [series] = told_of_waits(monkeypatch, [fsyncs, []])
    assert (series.entity, series.metric, series.unit) == (Entity(SERVER, "redis"), "redis_disk_waits", "ms/s")
    assert series.values[-1] == pytest.approx(720.0)
    assert {v for t, v in zip(series.times, series.values, strict=True) if t < SCOPE.window.start} == {0.0}
    metric = next(m for m in spec("redis").metrics if m.name == "redis_disk_waits")
    said = verdict(bound("redis.persistence", store="redis"), [series], [metric], SCOPE, "redis")
    assert said.signal == 1.0 and said.summary.startswith("disk waits")


def test_a_latency_monitor_that_is_off_or_not_to_be_asked_tells_of_no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told_of_waits(monkeypatch, [[], []]) == ()
    assert told_of_waits(monkeypatch, RefusedError("redis", "NOPERM")) == ()
    with pytest.raises(SourceError, match="in a form that is not Redis'"):
        told_of_waits(monkeypatch, [[b"what"], []])


def test_where_redis_was_not_looked_at_its_questions_are_no_candidates() -> None:
    asked = candidates(bundled_catalog(), [Entity("service", "cart"), Entity("container", "redis")])
    assert [q for q in asked if q.template.tool == "redis"] == []
    asked = candidates(bundled_catalog(), [Entity(SERVER, "redis"), Entity("queue", "redis: q")])
    assert {q.template.id for q in asked if q.template.tool == "redis"} == {
        t.id for t in spec("redis").templates if not asks_presence(t)
    }


def test_a_redis_that_is_away_is_named_as_missing() -> None:
    system = open_system("s", SystemSettings(backends={"redis": Backend(url="redis://127.0.0.1:9/0")}), bundled_catalog(), 0.5)
    assert list(system.tools) == ["redis"]
    seen = system.snapshot(time.time())
    assert (seen.missing, seen.entities) == (("redis",), (Entity("redis_unreachable", "redis"),))
    system.close()


def test_a_body_without_a_command_is_an_error_of_the_source() -> None:
    with pytest.raises(SourceError, match="has to name a command"):
        tool().render(Query(QueryTemplate("own", "redis", "mine", "", "command: INFO")), SCOPE)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("", "no address is set"),
        ("redis://me:hunter2@127.0.0.1:1/0", r"cannot be reached at 127\.0\.0\.1:1"),
        ("http://me:hunter2@127.0.0.1:1", "url cannot be read"),
        ("redis://me:hunter2@127.0.0.1:port/0", "url cannot be read|cannot be reached at its url"),
    ],
)
def test_a_wrong_address_is_told_without_its_password(url: str, told: str) -> None:
    with pytest.raises(SourceError, match=told) as error:
        tool(url).ping()
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    "lie",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"+OK\r\n" * 10,
        b":1\r\n" * 10,
        b"*-1\r\n" * 10,
        b"*1\r\n" * 100_000,
        b"$-7\r\n" * 10,
        b"$5\r\nab\r\n\r\n" * 10,
        b"-ERR no\r\n" * 10,
        b"\x00\xff" * 100,
        b"",
    ],
)
def test_a_lying_server_is_an_error_of_the_source_in_time(lie: bytes) -> None:
    for question in ("ping", "snapshot"):
        with raw_server(lie) as url, closing(tool(url.replace("http", "redis"))) as asked:
            began = time.monotonic()
            with pytest.raises(SourceError, match="redis"):
                asked.ping() if question == "ping" else asked.snapshot(SCOPE)
            assert time.monotonic() - began < 1.5


def test_a_server_that_hangs_is_given_up_after_the_limit() -> None:
    with raw_server(b"", hang=True) as url:
        began = time.monotonic()
        with pytest.raises(SourceError, match=r"no answer within 0\.5 s"):
            tool(url.replace("http", "redis")).snapshot(SCOPE)
        assert time.monotonic() - began < 1.5


def test_a_server_that_drips_is_given_up_although_it_never_pauses_for_long() -> None:
    with raw_server(b"+OK\r\n+OK\r\n$5000\r\n" + b"x" * 5000, drip_s=0.005) as url:
        began = time.monotonic()
        with pytest.raises(SourceError, match=r"no answer within 0\.5 s"):
            tool(url.replace("http", "redis")).ping()
        assert time.monotonic() - began < 1.5


@pytest.mark.parametrize("head", [b"$1000000000\r\n", b"*100000000\r\n"])
def test_a_server_that_floods_is_cut_off(head: bytes) -> None:
    with raw_server(b"+OK\r\n+OK\r\n" + head + b":12345678\r\n" * 3_000_000) as url:
        began = time.monotonic()
        with pytest.raises(SourceError, match="redis"):
            tool(url.replace("http", "redis")).ping()
        assert time.monotonic() - began < 1.5
