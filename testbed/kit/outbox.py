"""Events that are sent if, and only if, the transaction that wrote them was committed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Sequence
from typing import Any

from asyncpg.pool import PoolConnectionProxy
from opentelemetry import propagate
from opentelemetry.instrumentation.utils import suppress_instrumentation

from kit.database import Database
from kit.queue import Queue

log = logging.getLogger(__name__)
SCHEMA = """
CREATE TABLE IF NOT EXISTS outbox (
  id bigserial PRIMARY KEY, queue text NOT NULL, body jsonb NOT NULL, trace jsonb NOT NULL,
  at timestamptz NOT NULL DEFAULT now());
"""
_EVERY = 1.0
"""Seconds between two looks when nobody says that there is something."""
_AT_ONCE = 50


class Outbox:
    """Sends a service's events, in their order and at least once each, as soon as the queue's store takes them."""

    def __init__(self, database: Database, queues: Sequence[Queue]) -> None:
        self._database, self._queues = database, {queue.name: queue for queue in queues}
        self._written = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def put(self, connection: PoolConnectionProxy, queue: str, body: dict[str, Any]) -> None:
        """Write an event within the caller's transaction; the current trace goes with it."""
        if queue not in self._queues:
            raise KeyError(f"this outbox has no queue {queue!r}; it has {sorted(self._queues)}")
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        await connection.execute(
            "INSERT INTO outbox (queue, body, trace) VALUES ($1, $2, $3)", queue, json.dumps(body), json.dumps(carrier)
        )

    def hurry(self) -> None:
        """Say, after the commit, that there is something to send."""
        self._written.set()

    async def open(self) -> None:
        """Begin to send."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Stop; what is not sent yet is sent after the next start."""
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._written.wait(), _EVERY)
            self._written.clear()
            try:
                while await self._send() == _AT_ONCE:
                    pass
            except Exception:
                # A store that goes away in the middle of a word makes its client raise nearly anything; events must go on.
                log.warning("events wait in the outbox", exc_info=True)
                await asyncio.sleep(_EVERY)

    async def _send(self) -> int:
        """Send the oldest events; how many there were."""
        # What looks each second is no part of anybody's request; the sending itself is, and makes its own span.
        with suppress_instrumentation():
            async with self._database.connection() as connection, connection.transaction():
                rows = await connection.fetch(
                    "SELECT id, queue, body, trace FROM outbox WHERE queue = ANY($1) ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED",
                    list(self._queues),
                    _AT_ONCE,
                )
                for row in rows:
                    cause = propagate.extract(json.loads(row["trace"]))
                    await self._queues[row["queue"]].publish(json.loads(row["body"]), cause)
                if rows:
                    await connection.execute("DELETE FROM outbox WHERE id = ANY($1)", [row["id"] for row in rows])
                return len(rows)
