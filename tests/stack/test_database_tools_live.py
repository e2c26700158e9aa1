"""The stack's own PostgreSQL and Redis: every question lights up with a real fault made by hand and stays dark in health.

Each fault is asked about twice, as a campaign does: in its window, and in the time before, when nothing was wrong.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import docker
import psycopg
import pytest
import redis
from psycopg import sql

from fault_injection.campaigns.proof import healthy_scope
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.anomaly import SIGNIFICANT
from revelio.tools import sample_series, samples
from revelio.tools.base import Limits, Scope, Tool
from revelio.tools.postgres.connection import Database
from revelio.tools.postgres.sql import query_of
from revelio.tools.postgres.tool import Postgres
from revelio.tools.redis.tool import Redis
from revelio.types import Query, Result, Window
from testbed.stack import find_project
from tests.tools.conftest import HOSTILE_NAMES, bound, filled, spec

DISTURBS = True
pytestmark = [pytest.mark.stack, pytest.mark.thorough]

APP = "shop"
PORTS = find_project(APP).ports
SERVER = f"127.0.0.1:{PORTS['postgres']}"
REDIS = f"redis://127.0.0.1:{PORTS['redis']}/0"
CALM_S = 8.0
ROWS = 20_000


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Readings and rates at a fifth of their usual pace, so that a fault takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "EVERY_S", 0.5)
        patch.setattr(sample_series, "RATE_S", 2.0)
        yield


class Shop:
    """A database beside the application's, with one service's table, and connections that carry a service's name."""

    def __init__(self, name: str, open_until: ExitStack) -> None:
        self.name = name
        self._open_until = open_until

    @property
    def url(self) -> str:
        return f"postgresql://{APP}:{APP}@{SERVER}/{self.name}"

    @property
    def observed(self) -> str:
        return f"postgresql://observer:observer@{SERVER}/{self.name}"

    def connection(self, service: str, *, autocommit: bool = True) -> psycopg.Connection[Any]:
        return self._open_until.enter_context(psycopg.connect(self.url, autocommit=autocommit, application_name=service))


@pytest.fixture(scope="module")
def server() -> Iterator[Shop]:
    name = f"tools_{secrets.token_hex(4)}"
    with psycopg.connect(f"postgresql://{APP}:{APP}@{SERVER}/{APP}", autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            with ExitStack() as opened:
                shop = Shop(name, opened)
                seed = shop.connection("seed")
                seed.execute("CREATE EXTENSION pg_stat_statements")
                seed.execute("CREATE TABLE items (id int PRIMARY KEY, name text, filler text)")
                seed.execute(
                    "INSERT INTO items SELECT i, 'item ' || i, repeat('x', 100) FROM generate_series(1, %s) AS i" % ROWS  # noqa: UP031
                )
                seed.execute("CREATE INDEX items_name ON items (name)")
                seed.execute("VACUUM ANALYZE items")
                seed.close()
                yield shop
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="module")
def postgres(server: Shop) -> Iterator[Postgres]:
    with closing(Postgres(spec("postgres"), Backend(url=server.observed), Limits())) as tool:
        tool.ping()
        yield tool


@pytest.fixture(scope="module")
def cache() -> Iterator[Any]:
    client: Any = redis.Redis.from_url(REDIS, socket_timeout=30)
    for n in range(3):
        client.xadd("queue:tools-live", {"n": n})
    try:
        yield client
    finally:
        client.delete("queue:tools-live")
        client.close()


@pytest.fixture(scope="module")
def redis_tool(cache: Any) -> Iterator[Redis]:
    with closing(Redis(spec("redis"), Backend(url=REDIS), Limits())) as tool:
        tool.ping()
        yield tool


def calm(tool: Tool) -> float:
    """Watch for a while that nothing happens; the moment when that ended."""
    now = time.time()
    tool.snapshot(Scope("shop", Window(now - 1, now), Window(now - 2, now - 1)))
    time.sleep(CALM_S)
    return time.time()


def proven(tool: Tool, query: Query, since: float) -> Result:
    """What a question shows of a fault in force since then, while it was dark before."""
    now = time.time()
    scope = Scope("shop", Window(since, now), Window(since - CALM_S + 2.5, since))
    found = tool.run(query, scope)
    before = tool.run(query, healthy_scope(scope))
    assert found.signal >= SIGNIFICANT, (query.title, found.summary, found.reason)
    assert before.signal < SIGNIFICANT, (query.title, before.summary, before.reason)
    return found


def told(result: Result) -> dict[str, str]:
    """A result's fields and their values."""
    return {str(row[0]): str(row[1]) for row in result.rows}


def dark(tool: Tool, query: Query) -> None:
    now = time.time()
    found = tool.run(query, Scope("shop", Window(now - 3, now), Window(now - CALM_S, now - 3)))
    assert found.signal < SIGNIFICANT, (query.title, found.summary, found.reason)


@contextmanager
def busily(work: Callable[[], object], every: float = 0.01) -> Iterator[None]:
    """Does the same again and again in the background."""
    stop = threading.Event()

    def go_on() -> None:
        with contextlib.suppress(psycopg.Error, redis.RedisError):
            while not stop.wait(every):
                work()

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=10)


def test_a_snapshot_names_the_database_its_tables_and_what_is_normal(postgres: Postgres, redis_tool: Redis) -> None:
    for tool in (postgres, redis_tool):
        calm(tool)
        now = time.time()
        began = time.monotonic()
        seen = tool.snapshot(Scope("shop", Window(now - 3, now), Window(now - CALM_S, now - 3)))
        assert time.monotonic() - began < 1.0
        names = {(e.kind, e.name) for e in seen.entities}
        read = {r.metric for t in spec(tool.name).templates for r in t.reads}
        assert {s.metric for s in seen.series} <= read
        assert all(any(t < now - 3 for t in s.times) and s.times[-1] <= now for s in seen.series)
        if tool.name == "postgres":
            assert {n for n in names if n[0] != "postgres_client"} == {
                ("postgres_server", "postgres"),
                ("table", "postgres: items"),
            }
        else:
            assert {("redis_server", "redis"), ("queue", "redis: queue:tools-live")} <= names


def test_in_health_every_question_is_dark(postgres: Postgres, redis_tool: Redis, server: Shop) -> None:
    fill = {
        "service": "orders",
        "database": "postgres",
        "table": "postgres: items",
        "store": "redis",
        "queue": "redis: queue:tools-live",
    }
    steady = server.connection("orders")
    with busily(lambda: steady.execute("SELECT * FROM items WHERE name = 'item 7'"), 0.02):
        calm(postgres)
        calm(redis_tool)
        for tool in (postgres, redis_tool):
            for template in spec(tool.name).templates:
                dark(tool, bound(template.id, **{b.name: fill[b.name] for b in template.blanks}))


def test_a_held_lock_shows_who_blocks_whom(postgres: Postgres, server: Shop) -> None:
    holder, waiter = server.connection("orders", autocommit=False), server.connection("cart")
    since = calm(postgres)
    holder.execute("UPDATE items SET name = 'S3cret' WHERE id = 1")
    waiting = threading.Thread(target=lambda: waiter.execute("UPDATE items SET name = 'other' WHERE id = 1"))
    waiting.start()
    time.sleep(6.0)
    try:
        blocking = proven(postgres, bound("postgres.blocking", database="postgres"), since)
        [row] = [dict(zip(blocking.columns, r, strict=True)) for r in blocking.rows]
        assert (row["blocked"], row["blocking"], row["its state"]) == ("cart", "orders", "idle in transaction")
        assert row["blocking pid"] == holder.info.backend_pid
        assert float(row["waited, s"] or 0) > 4
        assert row["blocking statement"] == "UPDATE items SET name = ? WHERE id = ?"
        assert "S3cret" not in repr(blocking)
        locks = proven(postgres, bound("postgres.locks", service="orders", database="postgres"), since)
        assert any(dict(zip(locks.columns, r, strict=True))["blocks sessions"] == 1 for r in locks.rows)
        longest = proven(postgres, bound("postgres.longest", database="postgres"), since)
        assert {"orders", "cart"} <= {r[1] for r in longest.rows}
        waits = proven(postgres, bound("postgres.sessions", service="cart", database="postgres"), since)
        assert "Lock" in {row[1] for row in waits.rows}
        proven(postgres, bound("postgres.sessions", service="orders", database="postgres"), since)
        now = time.time()
        here = Scope("shop", Window(since, now), Window(since - CALM_S + 2.5, since))
        assert postgres.run(bound("postgres.locks", service="cart", database="postgres"), here).signal < SIGNIFICANT
    finally:
        holder.rollback()
        waiting.join()


def test_leaked_connections_show_with_the_application_that_holds_them(postgres: Postgres, server: Shop) -> None:
    since = calm(postgres)
    asked = server.connection("admin").execute(
        "SELECT current_setting('max_connections')::int, count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    )
    most, now = asked.fetchone() or (0, 0)
    leaked = [server.connection("cart") for _ in range(int(0.85 * most) - now)]
    try:
        time.sleep(4.0)
        found = proven(postgres, bound("postgres.connections", database="postgres"), since)
        assert int(told(found)["cart"]) >= len(leaked)
        proven(postgres, bound("postgres.sessions", service="cart", database="postgres"), since)
    finally:
        for connection in leaked:
            connection.close()


def test_a_database_without_a_connection_left_says_so(server: Shop) -> None:
    with server.connection("admin") as admin:
        admin.execute("CREATE ROLE turned_away LOGIN PASSWORD 'x' CONNECTION LIMIT 0 IN ROLE pg_monitor")
    try:
        with closing(
            Postgres(spec("postgres"), Backend(url=server.observed.replace("observer:observer", "turned_away:x")), Limits())
        ) as tool:
            now = time.time()
            scope = Scope("shop", Window(now - 3, now), Window(now - 6, now - 3))
            found = tool.run(bound("postgres.connections", database="postgres"), scope)
            assert (found.signal, "no connection left" in found.summary) == (1.0, True)
            with pytest.raises(SourceError, match="no connection left"):
                tool.run(bound("postgres.blocking", database="postgres"), scope)
    finally:
        server.connection("admin").execute("DROP ROLE turned_away")


def test_a_role_that_may_not_see_sessions_is_told_what_it_lacks(server: Shop) -> None:
    server.connection("admin").execute("CREATE ROLE shortsighted LOGIN PASSWORD 'x'")
    try:
        with closing(
            Postgres(spec("postgres"), Backend(url=server.observed.replace("observer:observer", "shortsighted:x")), Limits())
        ) as tool:
            now = time.time()
            scope = Scope("shop", Window(now - 3, now), Window(now - 6, now - 3))
            for ask in (tool.ping, lambda: tool.snapshot(scope)):
                with pytest.raises(SourceError, match="GRANT pg_monitor TO shortsighted"):
                    ask()
    finally:
        server.connection("admin").execute("DROP ROLE shortsighted")


def test_a_dropped_index_shows_at_its_table_and_in_the_statements(postgres: Postgres, server: Shop) -> None:
    searching, changing = server.connection("products"), server.connection("deploy")
    with busily(lambda: searching.execute("SELECT * FROM items WHERE name = 'item 7'"), 0.004):
        since = calm(postgres)
        changing.execute("DROP INDEX items_name")
        try:
            time.sleep(8.0)
            table = proven(postgres, bound("postgres.seq_scans", table="postgres: items"), since)
            [row] = [dict(zip(table.columns, r, strict=True)) for r in table.rows]
            assert float(row["rows read so"] or 0) > 10 * ROWS
            assert row["indexes"] == "items_pkey"
            suspects = proven(postgres, bound("postgres.missing_index", database="postgres"), since)
            assert suspects.rows[0][0] == "items"
            statements = proven(postgres, bound("postgres.statements", database="postgres"), since)
            costly = dict(zip(statements.columns, statements.rows[0], strict=True))
            assert costly["statement"] == "SELECT * FROM items WHERE name = $1"
            assert 0 < float(costly["calls"] or 0) < 2_000
        finally:
            changing.execute("CREATE INDEX items_name ON items (name)")


def test_a_slow_statement_shows_among_the_longest(postgres: Postgres, server: Shop) -> None:
    slow = server.connection("orders")
    since = calm(postgres)
    running = threading.Thread(target=lambda: slow.execute("SELECT pg_sleep(6)"))
    running.start()
    time.sleep(5.0)
    found = proven(postgres, bound("postgres.longest", database="postgres"), since)
    assert (found.rows[0][1], found.rows[0][-1]) == ("orders", "SELECT pg_sleep(?)")
    running.join()


def test_reads_past_the_cache_show(postgres: Postgres, server: Shop) -> None:
    reading = server.connection("orders")
    reading.execute("CREATE TABLE cold AS SELECT i, repeat('x', 1000) AS filler FROM generate_series(1, 150000) AS i")
    reading.execute("CHECKPOINT")
    since = calm(postgres)
    with busily(lambda: reading.execute("SELECT count(*) FROM cold"), 0.2):
        time.sleep(6.0)
        found = proven(postgres, bound("postgres.cache", database="postgres"), since)
    assert float(dict(zip(found.columns, found.rows[0], strict=True))["blocks read"] or 0) > 1_000
    reading.execute("DROP TABLE cold")


WRITES = (
    "INSERT INTO items VALUES (0, 'x', 'x')",
    "DELETE FROM items",
    "DROP TABLE items",
    "SELECT 1; DELETE FROM items",
    "SELECT 1) AS a; DELETE FROM items; SELECT * FROM (SELECT 1",
    "WITH gone AS (DELETE FROM items RETURNING *) SELECT * FROM gone",
    "SET transaction_read_only = off",
    "SELECT set_config('transaction_read_only', 'off', false)",
    "CREATE TABLE more ()",
    "COPY items TO PROGRAM 'true'",
    "SELECT nextval('numbers')",
    "COMMIT",
    "SELECT * FROM items FOR UPDATE",
)


@pytest.mark.parametrize("write", WRITES)
def test_not_even_a_superuser_can_write_with_it(server: Shop, write: str) -> None:
    with server.connection("admin") as admin, closing(Database("postgres", server.url, Limits())) as database:
        admin.execute("CREATE SEQUENCE IF NOT EXISTS numbers")
        with pytest.raises(SourceError):
            database.ask(query_of(write, {}), {})
        with pytest.raises(SourceError):
            database.ask(query_of("SELECT setval('numbers', 100)", {}), {})
        assert admin.execute("SELECT count(*) FROM items").fetchone() == (ROWS,)
        assert admin.execute("SELECT last_value, is_called FROM numbers").fetchone() == (1, False)


def test_settings_that_a_statement_changes_are_forgotten_with_it(server: Shop) -> None:
    with closing(Database("postgres", server.url, Limits())) as database:
        server.connection("admin").execute("CREATE SEQUENCE settings")
        database.ask(query_of("SELECT set_config('default_transaction_read_only', 'off', false)", {}), {})
        with pytest.raises(SourceError, match="read-only transaction"):
            database.ask(query_of("SELECT setval('settings', 100)", {}), {})


def test_time_rows_and_bytes_are_limited(server: Shop) -> None:
    with closing(Database("postgres", server.observed, Limits(seconds=2.0, rows=50, bytes=200_000))) as database:
        began = time.monotonic()
        with pytest.raises(SourceError, match="no answer within 2 s"):
            database.ask(query_of("SELECT pg_sleep(20)", {}), {})
        assert time.monotonic() - began < 3.5
        many = database.ask(query_of("SELECT i FROM generate_series(1, 10000) AS i", {}), {})
        assert (len(many.rows), many.truncated) == (50, True)
        with pytest.raises(SourceError, match=r"more than 0\.2 MB"):
            database.ask(query_of("SELECT repeat('x', 100000) FROM generate_series(1, 40)", {}), {})
        assert database.ask(query_of("SELECT ${a}::text", {"a": ""}), {"a": "it's\\"}).rows == (("it's\\",),)


def test_a_lost_connection_is_made_anew(server: Shop) -> None:
    with closing(Database("postgres", server.observed, Limits())) as database:
        [[pid]] = database.ask(query_of("SELECT pg_backend_pid()", {}), {}).rows
        server.connection("admin").execute("SELECT pg_terminate_backend(%s)", (pid,))
        time.sleep(0.2)
        [[other]] = database.ask(query_of("SELECT pg_backend_pid()", {}), {}).rows
        assert other != pid


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_find_nothing_and_break_nothing(postgres: Postgres, redis_tool: Redis, name: str) -> None:
    now = time.time()
    scope = Scope("shop", Window(now - 3, now), Window(now - 6, now - 3))
    for query in filled("postgres", name):
        if {"service", "table"} & {b.name for b in query.template.blanks}:
            found = postgres.run(query, scope)
            assert (found.rows, found.signal < SIGNIFICANT) == ((), True), query.template.id
    [query] = [q for q in filled("redis", name) if q.template.id == "redis.queue"]
    assert (redis_tool.run(query, scope).rows, redis_tool.run(query, scope).signal) == ((), 0.0)


def test_what_is_rendered_can_be_pasted(postgres: Postgres, server: Shop) -> None:
    now = time.time()
    scope = Scope("shop", Window(now - 3, now), Window(now - 6, now - 3))
    with server.connection("admin") as admin:
        for name in ("items", *HOSTILE_NAMES):
            for query in filled("postgres", name):
                admin.execute(postgres.render(query, scope).encode())


def test_a_low_memory_limit_shows_as_full_and_evicting(redis_tool: Redis, cache: Any) -> None:
    limit, policy = cache.config_get("maxmemory")["maxmemory"], cache.config_get("maxmemory-policy")["maxmemory-policy"]
    used = int(cache.info("memory")["used_memory"])
    cache.config_set("maxmemory", 4 * used)
    cache.config_set("maxmemory-policy", "volatile-lru")
    pipeline = cache.pipeline()
    for n in range(200):
        pipeline.set(f"tools-live:{n}", "x" * 1000, ex=60)
    pipeline.execute()
    try:
        since = calm(redis_tool)
        cache.config_set("maxmemory", int(cache.info("memory")["used_memory"]) - 50_000)
        with busily(lambda: cache.set(f"tools-live:{secrets.token_hex(4)}", "x" * 1000, ex=60)):
            time.sleep(4.0)
            found = proven(redis_tool, bound("redis.memory", store="redis"), since)
        assert int(told(found)["evicted_keys"]) > 0
    finally:
        cache.config_set("maxmemory", limit)
        cache.config_set("maxmemory-policy", policy)


def test_clients_that_pile_up_show(redis_tool: Redis, cache: Any) -> None:
    since = calm(redis_tool)
    with ExitStack() as opened:
        for _ in range(60):
            opened.enter_context(closing(redis.Redis.from_url(REDIS))).ping()
        time.sleep(4.0)
        found = proven(redis_tool, bound("redis.clients", store="redis"), since)
        assert int(told(found)["connected_clients"]) > 60


def test_a_command_that_holds_everybody_up_shows_with_its_time_and_without_its_words(redis_tool: Redis, cache: Any) -> None:
    cache.execute_command("SLOWLOG", "RESET")
    since = calm(redis_tool)
    busy = "local n = 0; for i = 1, 20000000 do n = n + i end; return n"
    for _ in range(3):
        cache.eval(busy, 1, "session:S3cret1")
    time.sleep(2.0)
    found = proven(redis_tool, bound("redis.slowlog", store="redis"), since)
    assert "S3cret" not in repr(found)
    assert {r[2].split()[0] for r in found.rows if isinstance(r[2], str)} == {"EVAL"}


def test_errors_show_among_the_commands(redis_tool: Redis, cache: Any) -> None:
    cache.set("tools-live:text", "word", ex=60)
    since = calm(redis_tool)

    def fail() -> None:
        with contextlib.suppress(redis.ResponseError):
            cache.incr("tools-live:text")

    with busily(fail):
        time.sleep(4.0)
        proven(redis_tool, bound("redis.commands", store="redis"), since)


def test_a_queue_that_nobody_drains_shows(redis_tool: Redis, cache: Any) -> None:
    since = calm(redis_tool)
    for n in range(200):
        cache.xadd("queue:tools-live", {"n": n})
    time.sleep(3.0)
    found = proven(redis_tool, bound("redis.queue", queue="redis: queue:tools-live"), since)
    assert "203 messages now, 3 messages before" in found.summary


def test_a_disk_that_cannot_be_written_shows(redis_tool: Redis, cache: Any) -> None:
    since = calm(redis_tool)
    with closing(docker.from_env()) as engine:
        [container] = [
            c
            for c in engine.containers.list()
            if any(str(PORTS["redis"]) == b["HostPort"] for p in c.ports.values() for b in p or ())
        ]
        folder = cache.config_get("dir")["dir"]
        container.exec_run(["chmod", "0555", folder], user="root")
        try:
            save_and_wait(cache)
            time.sleep(3.0)
            found = proven(redis_tool, bound("redis.persistence", store="redis"), since)
            assert told(found)["rdb_last_bgsave_status"] == "err"
        finally:
            container.exec_run(["chmod", "0755", folder], user="root")
            save_and_wait(cache)
    assert cache.info("persistence")["rdb_last_bgsave_status"] == "ok"


def save_and_wait(cache: Any) -> None:
    cache.bgsave()
    deadline = time.monotonic() + 10
    while cache.info("persistence")["rdb_bgsave_in_progress"] and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.3)
