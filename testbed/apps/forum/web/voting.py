"""Voting on posts and comments: what is cast is recorded at once, and counted by the votes worker."""

from __future__ import annotations

import logging
from typing import Any

from asyncpg.pool import PoolConnectionProxy
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from apps.forum.outbox import VOTES, Letter, write
from apps.forum.web.site import Site, Visitor, acting, item_of
from kit.bodies import body_of, number

log = logging.getLogger(__name__)
_POST_OF = {"post": "SELECT id FROM posts WHERE id = $1", "comment": "SELECT post FROM comments WHERE id = $1"}
# The version tells a later vote from an earlier one, whatever the order in which they are counted.
_CAST = """
INSERT INTO votes (voter, item, kind, value, version, counted, counted_version) VALUES ($1, $2, $3, $4, 1, 0, 0)
ON CONFLICT (voter, item, kind) DO UPDATE SET value = excluded.value, version = votes.version + 1
WHERE votes.value <> excluded.value RETURNING version"""


def routes(site: Site) -> list[Route]:
    """The pages of this file."""

    async def vote(request: Request, visitor: Visitor, kind: str) -> dict[str, Any]:
        item, value = item_of(request, kind), number(await body_of(request), "value")
        if value not in (-1, 0, 1):
            raise HTTPException(400, "value must be -1, 0 or 1")
        async with site.database.connection() as connection, connection.transaction():
            letter = await _cast(connection, visitor.id, kind, item, value)
        if letter:
            await site.outbox.send(letter)
            log.info("a vote of %+d on %s %d", value, kind, item)
        return {"kind": kind, "id": item, "vote": value}

    async def vote_on_post(request: Request, visitor: Visitor) -> dict[str, Any]:
        return await vote(request, visitor, "post")

    async def vote_on_comment(request: Request, visitor: Visitor) -> dict[str, Any]:
        return await vote(request, visitor, "comment")

    return [
        Route("/posts/{id:int}/vote", acting(site, vote_on_post), methods=["PUT"]),
        Route("/comments/{id:int}/vote", acting(site, vote_on_comment), methods=["PUT"]),
    ]


async def _cast(connection: PoolConnectionProxy, voter: int, kind: str, item: int, value: int) -> Letter | None:
    """The message to the votes worker; None when the same was cast before. 404 when there is no such item."""
    post = await connection.fetchval(_POST_OF[kind], item)
    if post is None:
        raise HTTPException(404, f"there is no {kind} {item}")
    version = await connection.fetchval(_CAST, voter, item, kind, value)
    if version is None:
        return None
    vote = {"voter": voter, "item": item, "kind": kind, "value": value, "version": version, "post": post}
    return await write(connection, VOTES, vote)
