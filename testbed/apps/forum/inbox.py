"""inbox: tells whoever is answered, once for each comment."""

from __future__ import annotations

import logging
from typing import Any

from starlette.routing import Route

from apps.forum.markup import excerpt
from apps.forum.outbox import COMMENT_POSTED, handled
from apps.forum.ranking import sign
from apps.forum.schema import Tables
from kit.cache import Store
from kit.database import Database
from kit.queue import Queue, Worker
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
EXCERPT = 140
_ANSWERED = """
SELECT c.author AS sender, c.post, c.body, c.at, coalesce(up.author, p.author) AS owner
FROM comments c JOIN posts p ON p.id = c.post LEFT JOIN comments up ON up.id = c.parent WHERE c.id = $1"""


class Notifier:
    """Entries of the inbox in Postgres."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def tell(self, message: dict[str, Any]) -> None:
        """Tell the author of what the ``comment`` answers, unless it is one's own."""
        async with self._database.connection() as connection, connection.transaction():
            reply = await connection.fetchrow(_ANSWERED, message["comment"])
            if reply and reply["owner"] != reply["sender"]:
                await connection.execute(
                    "INSERT INTO inbox (owner, kind, source, sender, post, excerpt, at) VALUES ($1, 'reply', $2, $3, $4, $5, $6)"
                    " ON CONFLICT (kind, source) DO NOTHING",
                    reply["owner"],
                    message["comment"],
                    reply["sender"],
                    reply["post"],
                    excerpt(reply["body"], EXCERPT),
                    reply["at"],
                )
                seal = sign(f"{reply['owner']}:{message['comment']}")
                log.info("told member %d of comment %d (%s)", reply["owner"], message["comment"], seal[:8])
            await handled(connection, message)


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """No routes but the kit's own; a worker."""
    database, store = Database(settings, size=4), Store(settings.redis)
    notifier = Notifier(database)
    return [], [database, store, Tables(database), Worker(Queue(store, COMMENT_POSTED), notifier.tell, concurrency=2)]


if __name__ == "__main__":
    run(make)
