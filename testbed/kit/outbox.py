"""Events that are sent if, and only if, the transaction that wrote them was committed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from asyncpg.pool import PoolConnectionProxy
from opentelemetry import propagate
from opentelemetry.instrumentation.utils import suppress_instrumentation

from kit.database import Database
from kit.periodic import Periodic
from kit.queue import Queue

SCHEMA = """
CREATE TABLE IF NOT EXISTS outbox (
  id bigserial PRIMARY KEY, queue text NOT NULL, body jsonb NOT NULL, trace jsonb NOT NULL,
  at timestamptz NOT NULL DEFAULT now());
"""
_EVERY = 1.0
"""Seconds between two looks when nobody says that there is something."""
_AT_ONCE = 50


class Outbox(Periodic):
    """Sends a service's events, in their order and at least once each, as soon as the queue's store takes them.

    ``hurry``, after the commit, says that there is something to send.
    """

    def __init__(self, database: Database, queues: Sequence[Queue]) -> None:
        self._database, self._queues = database, {queue.name: queue for queue in queues}
        super().__init__("sending events", _EVERY, self._send_all)

    async def put(self, connection: PoolConnectionProxy, queue: str, body: dict[str, Any]) -> None:
        """Write an event within the caller's transaction; the current trace goes with it."""
        if queue not in self._queues:
            raise KeyError(f"this outbox has no queue {queue!r}; it has {sorted(self._queues)}")
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        await connection.execute(
            "INSERT INTO outbox (queue, body, trace) VALUES ($1, $2, $3)", queue, json.dumps(body), json.dumps(carrier)
        )

    async def _send_all(self) -> None:
        while await self._send() == _AT_ONCE:
            pass

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
