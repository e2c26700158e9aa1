"""Submitting posts, writing comments."""

from __future__ import annotations

import logging
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from apps.forum.markup import render
from apps.forum.outbox import COMMENT_POSTED, Letter, write
from apps.forum.ranking import hot
from apps.forum.web.site import LARGEST, Site, Visitor, acting, item_of
from apps.forum.web.texts import BODY, TITLE, key_of, storable, text_of
from kit.bodies import body_of, number, word

log = logging.getLogger(__name__)
DEEPEST = 12
_COMMENT = """
INSERT INTO comments (id, post, parent, root, depth, author, key, body)
SELECT n, $1, $2, coalesce($3, n), $4, $5, $6, $7 FROM nextval(pg_get_serial_sequence('comments', 'id')) n
ON CONFLICT (author, key) DO NOTHING RETURNING id"""


def routes(site: Site) -> list[Route]:
    """The pages of this file."""

    async def submit(request: Request, visitor: Visitor) -> dict[str, Any]:
        body = await body_of(request)
        title, text, key = text_of(body, "title", TITLE), text_of(body, "body", BODY), key_of(body)
        name = storable(word(body, "community"), "community")
        async with site.database.connection() as connection, connection.transaction():
            community = await connection.fetchval("SELECT id FROM communities WHERE name = $1", name)
            if community is None:
                raise HTTPException(404, f"there is no community {name}")
            post, is_new = await _submit(connection, community, visitor.id, key, title, text)
        log.info("post %d in %s%s", post, name, "" if is_new else ", sent again")
        return {"id": post, "community": name, "title": title, "html": render(text)}

    async def comment(request: Request, visitor: Visitor) -> dict[str, Any]:
        post, body = item_of(request, "post"), await body_of(request)
        parent = number(body, "parent") if body.get("parent") is not None else None
        text, key = text_of(body, "body", BODY), key_of(body)
        async with site.database.connection() as connection, connection.transaction():
            root, depth = await _place(connection, post, parent)
            written, letter = await _comment(connection, post, parent, root, depth, visitor.id, key, text)
        await site.thread_changed(post)
        if letter:
            await site.outbox.send(letter)
            log.info("comment %d on post %d", written, post)
        return {"id": written, "post": post, "parent": parent, "html": render(text)}

    return [
        Route("/posts", acting(site, submit, 201), methods=["POST"]),
        Route("/posts/{id:int}/comments", acting(site, comment, 201), methods=["POST"]),
    ]


async def _submit(
    connection: PoolConnectionProxy, community: int, author: int, key: str, title: str, text: str
) -> tuple[int, bool]:
    """The post's number, and whether it is new: the same key gives the same post again."""
    row: asyncpg.Record | None = await connection.fetchrow(
        "INSERT INTO posts (community, author, key, title, body) VALUES ($1, $2, $3, $4, $5)"
        " ON CONFLICT (author, key) DO NOTHING RETURNING id, extract(epoch FROM at)::float8 AS at",
        community,
        author,
        key,
        title,
        text,
    )
    if row is None:
        return await connection.fetchval("SELECT id FROM posts WHERE author = $1 AND key = $2", author, key), False
    await connection.execute("UPDATE posts SET hot = $2 WHERE id = $1", row["id"], hot(0, row["at"]))
    return row["id"], True


async def _place(connection: PoolConnectionProxy, post: int, parent: int | None) -> tuple[int | None, int]:
    """The first comment above (None for one at the top) and the depth; 404 when there is nothing to answer."""
    if parent is None:
        if await connection.fetchval("SELECT 1 FROM posts WHERE id = $1", post) is None:
            raise HTTPException(404, f"there is no post {post}")
        return None, 0
    above = None
    if 0 < parent <= LARGEST:
        above = await connection.fetchrow("SELECT root, depth FROM comments WHERE id = $1 AND post = $2", parent, post)
    if above is None:
        raise HTTPException(404, f"there is no comment {parent} on post {post}")
    if above["depth"] >= DEEPEST:
        raise HTTPException(409, "this thread is too deep; answer further up")
    return above["root"], above["depth"] + 1


async def _comment(
    connection: PoolConnectionProxy,
    post: int,
    parent: int | None,
    root: int | None,
    depth: int,
    author: int,
    key: str,
    text: str,
) -> tuple[int, Letter | None]:
    """The comment's number and the message about it; no message when the same key has written it before."""
    written = await connection.fetchval(_COMMENT, post, parent, root, depth, author, key, text)
    if written is None:
        return await connection.fetchval("SELECT id FROM comments WHERE author = $1 AND key = $2", author, key), None
    await connection.execute("UPDATE posts SET comments = comments + 1 WHERE id = $1", post)
    return written, await write(connection, COMMENT_POSTED, {"comment": written})
