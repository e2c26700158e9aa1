"""The service kit on the stack's own Redis and Postgres: queues that lose nothing, caches that expire, sessions that end."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from kit import outbox as outbox_module
from kit import queue as queue_module
from kit.cache import Store, cache
from kit.database import Database
from kit.outbox import Outbox
from kit.queue import Queue, Worker
from kit.schema import prepare
from kit.sessions import Sessions
from kit.settings import Settings
from testbed.stack import find_project

pytestmark = pytest.mark.stack

APP = "shop"
PORTS = find_project(APP).ports


@asynccontextmanager
async def store() -> AsyncIterator[Store]:
    store = Store(f"redis://127.0.0.1:{PORTS['redis']}/0")
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def database() -> AsyncIterator[Settings]:
    """A fresh database beside the application's, dropped afterwards."""
    server, name = f"postgresql://{APP}:{APP}@127.0.0.1:{PORTS['postgres']}", f"kit_{secrets.token_hex(4)}"
    admin = await asyncpg.connect(f"{server}/{APP}")
    await admin.execute(f"CREATE DATABASE {name}")
    try:
        yield Settings("kit", "1", "", f"{server}/{name}", "", 8000, {})
    finally:
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
        await admin.close()


@asynccontextmanager
async def queue() -> AsyncIterator[Queue]:
    async with store() as kept:
        queue = Queue(kept, f"kit-{secrets.token_hex(4)}")
        try:
            yield queue
        finally:
            await kept.client.delete(queue.key, f"{queue.key}.dead")


async def eventually(look: Callable[[], Awaitable[bool]], within: float = 10.0) -> None:
    async with asyncio.timeout(within):
        while not await look():
            await asyncio.sleep(0.05)


def drained(queue: Queue) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return int(await queue.client.xlen(queue.key)) == 0

    return look


def test_each_message_is_handled_and_the_queue_drains() -> None:
    async def run() -> list[int]:
        seen: list[int] = []

        async def handle(body: dict[str, Any]) -> None:
            seen.append(body["n"])

        async with queue() as messages:
            # Sent before there is any worker, and while there is one.
            for n in range(20):
                await messages.publish({"n": n})
            worker = Worker(messages, handle, concurrency=4)
            await worker.open()
            await messages.publish({"n": 20})
            await eventually(drained(messages))
            await worker.close()
        return sorted(seen)

    assert asyncio.run(run()) == list(range(21))


def test_what_a_worker_took_and_did_not_finish_is_handled_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_module, "_AGAIN_MS", 400)

    async def run() -> list[str]:
        seen: list[str] = []
        begun = asyncio.Event()

        async def hangs(_: dict[str, Any]) -> None:
            begun.set()
            await asyncio.sleep(60)

        async def works(body: dict[str, Any]) -> None:
            seen.append(body["name"])

        async with queue() as messages:
            await messages.publish({"name": "kept"})
            first = Worker(messages, hangs)
            await first.open()
            await begun.wait()
            await first.close()
            second = Worker(messages, works)
            await second.open()
            await eventually(drained(messages))
            await second.close()
        return seen

    assert asyncio.run(run()) == ["kept"]


def test_a_message_that_always_fails_is_put_aside_and_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_module, "_AGAIN_MS", 200)

    async def run() -> tuple[list[str], list[dict[str, str]]]:
        seen: list[str] = []

        async def handle(body: dict[str, Any]) -> None:
            seen.append(body["name"])
            if body["name"] == "bad":
                raise ValueError("cannot be read")

        async with queue() as messages:
            await messages.publish({"name": "bad"})
            await messages.publish({"name": "good"})
            worker = Worker(messages, handle, attempts=3)
            await worker.open()
            await eventually(drained(messages), within=20)
            await worker.close()
            dead = await messages.client.xrange(f"{messages.key}.dead")
        return seen, [fields for _, fields in dead]

    seen, dead = asyncio.run(run())
    assert seen.count("good") == 1 and seen.count("bad") == 3
    assert [fields["body"] for fields in dead] == ['{"name": "bad"}']


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(queue_module, "tracer", provider.get_tracer("kit"))
    return exporter


def test_a_trace_goes_from_the_request_through_the_outbox_and_the_queue_to_the_worker(spans: InMemorySpanExporter) -> None:
    async def run() -> int:
        async def handle(_: dict[str, Any]) -> None:
            return None

        async with queue() as messages, database() as settings:
            shared = Database(settings)
            outbox, worker = Outbox(shared, [messages]), Worker(messages, handle)
            await shared.open()
            async with shared.connection() as connection:
                await connection.execute(outbox_module.SCHEMA)
            await outbox.open()
            await worker.open()
            with queue_module.tracer.start_as_current_span("request") as span:
                async with shared.connection() as connection, connection.transaction():
                    await outbox.put(connection, messages.name, {"order": 1})
                outbox.hurry()
            await eventually(lambda: kinds({trace.SpanKind.PRODUCER, trace.SpanKind.CONSUMER}))
            for part in (worker, outbox, shared):
                await part.close()
            return span.get_span_context().trace_id

    async def kinds(wanted: set[trace.SpanKind]) -> bool:
        return wanted <= {span.kind for span in spans.get_finished_spans()}

    request = asyncio.run(run())
    assert {span.context.trace_id for span in spans.get_finished_spans()} == {request}


def test_an_event_leaves_the_outbox_only_if_its_transaction_was_committed() -> None:
    async def run() -> list[str]:
        async with queue() as messages, database() as settings:
            shared = Database(settings)
            outbox = Outbox(shared, [messages])
            await shared.open()
            async with shared.connection() as connection:
                await connection.execute(outbox_module.SCHEMA)
                with contextlib.suppress(RuntimeError):
                    async with connection.transaction():
                        await outbox.put(connection, messages.name, {"name": "taken back"})
                        raise RuntimeError
                async with connection.transaction():
                    await outbox.put(connection, messages.name, {"name": "kept"})
                with pytest.raises(KeyError):
                    await outbox.put(connection, "elsewhere", {})
            await outbox.open()

            async def sent() -> bool:
                async with shared.connection() as connection:
                    return not await connection.fetchval("SELECT count(*) FROM outbox")

            await eventually(sent)
            await outbox.close()
            await shared.close()
            return [fields["body"] for _, fields in await messages.client.xrange(messages.key)]

    assert asyncio.run(run()) == ['{"name": "kept"}']


def test_a_cached_value_is_loaded_once_until_it_expires_or_is_forgotten() -> None:
    async def run() -> list[int]:
        loads = 0

        async def load() -> int:
            nonlocal loads
            loads += 1
            return loads

        async with store() as kept:
            name = f"kit-{secrets.token_hex(4)}"
            values = cache(Settings("kit", "1", "", "", "", 8000, {"CACHE_SECONDS": "1"}), kept, name)
            seen = [await values.get_or("a", load) for _ in range(3)]
            await values.forget("a")
            seen.append(await values.get_or("a", load))
            await asyncio.sleep(1.1)
            seen.append(await values.get_or("a", load))
            off = cache(Settings("kit", "1", "", "", "", 8000, {"CACHE_SECONDS": "0"}), kept, name)
            return [*seen, await off.get_or("a", load)]

    assert asyncio.run(run()) == [1, 1, 1, 2, 3, 4]


def test_a_cache_whose_store_is_away_loads_every_time() -> None:
    async def run() -> list[int]:
        away = Store("redis://127.0.0.1:1/0")
        values = cache(Settings("kit", "1", "", "", "", 8000, {}), away, "kit")
        loads = iter(range(9))

        async def load() -> int:
            return next(loads)

        return [await values.get_or("a", load), await values.get_or("a", load)]

    assert asyncio.run(run()) == [0, 1]


def test_a_session_lives_as_long_as_it_is_used() -> None:
    async def run() -> list[Any]:
        async with store() as kept:
            sessions = Sessions(kept, seconds=2)
            token = await sessions.start({"user": 7})
            seen: list[Any] = []
            for _ in range(3):
                await asyncio.sleep(1.0)
                seen.append(await sessions.get(token))
            await asyncio.sleep(2.2)
            seen.append(await sessions.get(token))
            ended = await sessions.start({"user": 8})
            await sessions.end(ended)
            return [*seen, await sessions.get(ended), await sessions.get("../*"), await sessions.get("0" * 32)]

    assert asyncio.run(run()) == [{"user": 7}] * 3 + [None] * 4


def test_tables_are_made_once_by_whoever_comes_first() -> None:
    async def run() -> tuple[int, int]:
        async with database() as settings:
            seeds = 0

            async def seed(connection: Any) -> None:
                nonlocal seeds
                seeds += 1
                await connection.execute("INSERT INTO things VALUES (1)")

            async def start() -> None:
                own = await asyncpg.connect(settings.database)
                schema = "CREATE TABLE IF NOT EXISTS things (id integer)"
                await prepare(own, 7, schema, "SELECT count(*) FROM things", seed)  # type: ignore[arg-type]
                await own.close()

            await asyncio.gather(*(start() for _ in range(5)))
            check = await asyncpg.connect(settings.database)
            rows = await check.fetchval("SELECT count(*) FROM things")
            await check.close()
            return seeds, int(rows)

    assert asyncio.run(run()) == (1, 1)
