"""votes: counts each member's latest vote once, in the item's score, its author's karma and the post's rank."""

from __future__ import annotations

import logging
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy
from starlette.routing import Route

from apps.forum.editions import Editions
from apps.forum.outbox import VOTES, handled
from apps.forum.ranking import hot, sign
from apps.forum.schema import Tables
from kit.cache import Store
from kit.database import Database
from kit.queue import Queue, Worker
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
_CAST = "SELECT counted, counted_version FROM votes WHERE voter = $1 AND item = $2 AND kind = $3 FOR UPDATE"
_COUNTED = "UPDATE votes SET counted = $4, counted_version = $5 WHERE voter = $1 AND item = $2 AND kind = $3"


class Tally:
    """Scores in Postgres. A message that comes twice, or after a later one, changes nothing."""

    def __init__(self, database: Database, editions: Editions) -> None:
        self._database, self._editions = database, editions

    async def count(self, message: dict[str, Any]) -> None:
        """One vote: ``voter`` ``item`` ``kind`` ``value`` ``version`` ``post`` ``letter``."""
        vote = (message["voter"], message["item"], message["kind"], message["value"], message["version"])
        ballot = sign(":".join(str(part) for part in vote))
        async with self._database.connection() as connection, connection.transaction():
            change = await self._newly_counted(connection, vote)
            if change:
                await self._credit(connection, message["kind"], message["item"], change)
            await handled(connection, message)
        # Also for a vote that was counted before: whoever counted it may have died before it came to this.
        await self._editions.new(message["post"])
        log.info("ballot %s: %s %d %s", ballot[:8], message["kind"], message["item"], f"{change:+d}" if change else "unchanged")

    async def _newly_counted(self, connection: PoolConnectionProxy, vote: tuple[int, int, str, int, int]) -> int:
        """By how much the score changes; 0 when this vote, or a later one of the same member, is counted already."""
        *who_and_what, value, version = vote
        before = await connection.fetchrow(_CAST, *who_and_what)
        if before is None or before["counted_version"] >= version:
            return 0
        await connection.execute(_COUNTED, *vote)
        return int(value - before["counted"])

    async def _credit(self, connection: PoolConnectionProxy, kind: str, item: int, change: int) -> None:
        if kind == "post":
            post: asyncpg.Record | None = await connection.fetchrow(
                "SELECT author, score, extract(epoch FROM at)::float8 AS at FROM posts WHERE id = $1 FOR UPDATE", item
            )
            if post is None:
                raise LookupError(f"there is no post {item}")
            score = post["score"] + change
            await connection.execute("UPDATE posts SET score = $2, hot = $3 WHERE id = $1", item, score, hot(score, post["at"]))
            author = post["author"]
        else:
            author = await connection.fetchval(
                "UPDATE comments SET score = score + $2 WHERE id = $1 RETURNING author", item, change
            )
        await connection.execute("UPDATE users SET karma = karma + $2 WHERE id = $1", author, change)


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """No routes but the kit's own; a worker."""
    database, store = Database(settings, size=4), Store(settings.redis)
    tally = Tally(database, Editions(store))
    return [], [database, store, Tables(database), Worker(Queue(store, VOTES), tally.count, concurrency=2)]


if __name__ == "__main__":
    run(make)
