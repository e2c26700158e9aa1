"""What is to be sent once something is certain: written in the same transaction, sent from there, again until it is taken."""

from __future__ import annotations

import json
import logging
from typing import Any

from asyncpg.pool import PoolConnectionProxy
from opentelemetry import context, propagate
from opentelemetry.instrumentation.utils import suppress_instrumentation
from redis import RedisError

from kit.database import Database
from kit.queue import Queue

log = logging.getLogger(__name__)
BATCH = 20


class Outbox:
    """Rows in Postgres on their way to a queue. Each is sent at least once, in the trace in which it was written."""

    def __init__(self, database: Database, queue: Queue) -> None:
        self.database, self.queue = database, queue

    async def add(self, connection: PoolConnectionProxy, body: dict[str, Any]) -> None:
        """Write a message with the transaction that the connection is in."""
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        await connection.execute("INSERT INTO outbox (body, trace) VALUES ($1, $2)", json.dumps(body), json.dumps(carrier))

    async def send(self) -> None:
        """Publish what waits. Raises ``RedisError`` when the queue does not take it; it waits on then."""
        while await self._some():
            pass

    async def _some(self) -> bool:
        with suppress_instrumentation():
            async with self.database.connection() as connection, connection.transaction():
                rows = await connection.fetch("SELECT * FROM outbox ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED", BATCH)
                sent = [row["id"] for row in rows if await self._publish(row["body"], row["trace"])]
                if sent:
                    await connection.execute("DELETE FROM outbox WHERE id = ANY($1)", sent)
        if len(sent) < len(rows):
            raise RedisError(f"{len(rows) - len(sent)} messages wait for the queue {self.queue.name}")
        return len(rows) == BATCH

    async def _publish(self, body: str, trace: str) -> bool:
        token = context.attach(propagate.extract(json.loads(trace)))
        try:
            await self.queue.publish(json.loads(body))
        except RedisError:
            log.warning("the queue %s does not answer; the message waits", self.queue.name, exc_info=True)
            return False
        finally:
            context.detach(token)
        return True
