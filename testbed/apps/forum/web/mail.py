"""The inbox: replies and messages, what of them is unread, and messages to other members."""

from __future__ import annotations

import logging
import time
from typing import Any

from asyncpg.pool import PoolConnectionProxy
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from apps.forum.markup import excerpt
from apps.forum.ranking import age
from apps.forum.web.cards import next_page
from apps.forum.web.site import LARGEST, Site, Visitor, acting
from apps.forum.web.texts import key_of, name_of, text_of
from kit.bodies import body_of
from kit.paging import page

log = logging.getLogger(__name__)
MESSAGE = 2_000
MOST_AT_ONCE = 200
_ENTRIES = """
SELECT i.id, i.kind, i.source, i.post, i.excerpt AS html, i.read_at IS NOT NULL AS read, extract(epoch FROM i.at)::float8 AS at,
  u.name AS sender
FROM inbox i JOIN users u ON u.id = i.sender WHERE i.owner = $1 AND i.id < $2 ORDER BY i.id DESC LIMIT $3"""
_UNREAD = "SELECT count(*) FROM inbox WHERE owner = $1 AND read_at IS NULL"
_READ = "UPDATE inbox SET read_at = now() WHERE owner = $1 AND read_at IS NULL AND ($2::bigint[] IS NULL OR id = ANY($2))"


def routes(site: Site) -> list[Route]:
    """The pages of this file."""

    async def inbox(request: Request, visitor: Visitor) -> dict[str, Any]:
        asked = page(request)
        async with site.database.connection() as connection:
            after = LARGEST if asked.after is None else asked.after
            rows = [dict(row) for row in await connection.fetch(_ENTRIES, visitor.id, after, asked.size)]
            unread = await connection.fetchval(_UNREAD, visitor.id)
        now = time.time()
        entries = [{**row, "age": age(row["at"], now)} for row in rows]
        return {"unread": unread, "entries": entries, "next": next_page(rows, asked.size)}

    async def read(request: Request, visitor: Visitor) -> dict[str, Any]:
        entries = _entries(await body_of(request))
        async with site.database.connection() as connection:
            await connection.execute(_READ, visitor.id, entries)
            return {"unread": await connection.fetchval(_UNREAD, visitor.id)}

    async def send(request: Request, visitor: Visitor) -> dict[str, Any]:
        body = await body_of(request)
        to, text, key = name_of(body, "to"), text_of(body, "body", MESSAGE), key_of(body)
        async with site.database.connection() as connection, connection.transaction():
            recipient = await connection.fetchval("SELECT id FROM users WHERE lower(name) = lower($1)", to)
            if recipient is None:
                raise HTTPException(404, f"there is no member {to}")
            message = await _send(connection, visitor.id, recipient, key, text)
        log.info("message %d", message)
        return {"id": message, "to": to}

    return [
        Route("/inbox", acting(site, inbox)),
        Route("/inbox/read", acting(site, read), methods=["POST"]),
        Route("/messages", acting(site, send, 201), methods=["POST"]),
    ]


def _entries(body: dict[str, Any]) -> list[int] | None:
    """Which entries are meant; None for all of them."""
    entries = body.get("entries")
    if entries is None:
        return None
    if not isinstance(entries, list) or len(entries) > MOST_AT_ONCE:
        raise HTTPException(400, f"entries must be a list of at most {MOST_AT_ONCE} numbers")
    if not all(isinstance(entry, int) and not isinstance(entry, bool) and 0 < entry <= LARGEST for entry in entries):
        raise HTTPException(400, "entries must be numbers of inbox entries")
    return entries


async def _send(connection: PoolConnectionProxy, sender: int, recipient: int, key: str, text: str) -> int:
    """The message's number; the same key sends it once."""
    message: int | None = await connection.fetchval(
        "INSERT INTO messages (sender, recipient, key, body) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (sender, key) DO NOTHING RETURNING id",
        sender,
        recipient,
        key,
        text,
    )
    if message is None:
        return int(await connection.fetchval("SELECT id FROM messages WHERE sender = $1 AND key = $2", sender, key))
    await connection.execute(
        "INSERT INTO inbox (owner, kind, source, sender, excerpt) VALUES ($1, 'message', $2, $3, $4)",
        recipient,
        message,
        sender,
        excerpt(text),
    )
    return message
