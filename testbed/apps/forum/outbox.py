"""Messages that must not be lost: a row in the same transaction as what they tell of, removed by whoever has handled them."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any

from asyncpg.pool import PoolConnectionProxy
from opentelemetry import propagate
from opentelemetry.context import Context
from opentelemetry.instrumentation.utils import suppress_instrumentation
from redis import RedisError

from kit.cache import Store
from kit.database import Database
from kit.periodic import Periodic
from kit.queue import Queue

log = logging.getLogger(__name__)
VOTES = "votes"
COMMENT_POSTED = "comment-posted"
_LOOK_SECONDS = 2.0
_DUE = """
UPDATE outbox SET sent_at = now(), sent = sent + 1
WHERE id IN (SELECT id FROM outbox WHERE sent_at < now() - interval '6 s' * power(2, least(sent, 8))
             ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED)
RETURNING id, queue, message, context"""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message that is written down; its number tells the handler which row to remove."""

    id: int
    queue: str
    message: dict[str, Any]


async def write(connection: PoolConnectionProxy, queue: str, message: dict[str, Any]) -> Letter:
    """Write a message down, with the trace it belongs to. It counts as sent: call ``Outbox.send`` once this is committed."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    number: int = await connection.fetchval(
        "INSERT INTO outbox (queue, message, context) VALUES ($1, $2, $3) RETURNING id",
        queue,
        json.dumps(message),
        json.dumps(carrier),
    )
    return Letter(number, queue, message)


async def handled(connection: PoolConnectionProxy, message: dict[str, Any]) -> None:
    """Remove the row of a message, in the transaction that did what it asks for."""
    await connection.execute("DELETE FROM outbox WHERE id = $1", message["letter"])


class Outbox(Periodic):
    """Sends letters at once where it can. One that nobody has handled is sent again after 12 seconds, then ever more seldom."""

    def __init__(self, database: Database, store: Store) -> None:
        super().__init__("looking for messages to send again", _LOOK_SECONDS, self._send_due)
        self._database = database
        self._queues = {name: Queue(store, name) for name in (VOTES, COMMENT_POSTED)}

    async def send(self, letter: Letter, cause: Context | None = None) -> None:
        """Put it in its queue, as part of the trace that caused it; where that fails it goes out later."""
        try:
            await self._queues[letter.queue].publish({**letter.message, "letter": letter.id}, cause)
        except RedisError:
            log.warning("the queue %s does not take message %d; it goes out later", letter.queue, letter.id, exc_info=True)

    async def _send_due(self) -> None:
        with suppress_instrumentation():
            async with self._database.connection() as connection:
                due = await connection.fetch(_DUE)
        for row in due:
            log.info("sending message %d of %s again", row["id"], row["queue"])
            cause = propagate.extract(json.loads(row["context"]))
            await self.send(Letter(row["id"], row["queue"], json.loads(row["message"])), cause)
