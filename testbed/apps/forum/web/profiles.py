"""Members' pages: what they wrote, and their karma."""

from __future__ import annotations

import time
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from apps.forum.ranking import age
from apps.forum.web.cards import COLUMNS, JOINS, cards, next_page, own_votes
from apps.forum.web.site import LARGEST, Site, Visitor, reading
from apps.forum.web.texts import storable
from apps.forum.web.threads import shown
from kit.paging import Page, page

_MEMBER = "SELECT id, name, karma, extract(epoch FROM at)::float8 AS at FROM users WHERE lower(name) = lower($1)"
_POSTS = f"SELECT {COLUMNS} FROM posts p {JOINS} WHERE p.author = $1 AND p.id < $2 ORDER BY p.id DESC LIMIT $3"
_COMMENTS = """
SELECT m.id, m.post, m.parent, m.body, m.score, extract(epoch FROM m.at)::float8 AS at, p.title
FROM comments m JOIN posts p ON p.id = m.post WHERE m.author = $1 AND m.id < $2 ORDER BY m.id DESC LIMIT $3"""


def routes(site: Site) -> list[Route]:
    """The pages of this file."""

    async def overview(request: Request, visitor: Visitor | None) -> dict[str, Any]:
        asked = page(request, default=10)
        async with site.database.connection() as connection:
            member = await _member(connection, request)
            posts = await _written(connection, _POSTS, member["id"], asked)
            comments = await _written(connection, _COMMENTS, member["id"], asked)
        about = {"name": member["name"], "karma": member["karma"], "since": age(member["at"], time.time())}
        return {"member": about, "posts": await cards(site, posts, visitor), "comments": await answers(comments, visitor)}

    async def posts_of(request: Request, visitor: Visitor | None) -> dict[str, Any]:
        asked = page(request)
        async with site.database.connection() as connection:
            rows = await _written(connection, _POSTS, (await _member(connection, request))["id"], asked)
        return {"posts": await cards(site, rows, visitor), "next": next_page(rows, asked.size)}

    async def comments_of(request: Request, visitor: Visitor | None) -> dict[str, Any]:
        asked = page(request)
        async with site.database.connection() as connection:
            rows = await _written(connection, _COMMENTS, (await _member(connection, request))["id"], asked)
        return {"comments": await answers(rows, visitor), "next": next_page(rows, asked.size)}

    async def answers(rows: list[dict[str, Any]], visitor: Visitor | None) -> list[dict[str, Any]]:
        cast = await own_votes(site, visitor, "comment", [row["id"] for row in rows])
        now = time.time()
        return [shown(row, cast.get(row["id"], 0), now) for row in rows]

    return [
        Route("/u/{name}", reading(site, overview)),
        Route("/u/{name}/posts", reading(site, posts_of)),
        Route("/u/{name}/comments", reading(site, comments_of)),
    ]


async def _member(connection: PoolConnectionProxy, request: Request) -> asyncpg.Record:
    name = storable(request.path_params["name"], "name").replace("\0", "")
    found: asyncpg.Record | None = await connection.fetchrow(_MEMBER, name)
    if found is None:
        raise HTTPException(404, f"there is no member {name}")
    return found


async def _written(connection: PoolConnectionProxy, query: str, member: int, asked: Page) -> list[dict[str, Any]]:
    after = LARGEST if asked.after is None else asked.after
    return [dict(row) for row in await connection.fetch(query, member, after, asked.size)]
