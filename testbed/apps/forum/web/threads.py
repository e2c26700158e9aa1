"""One post with its comments as a tree."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from apps.forum.markup import render
from apps.forum.ranking import age
from apps.forum.web.cards import own_votes
from apps.forum.web.site import LARGEST, Site, Visitor, item_of, reading
from kit.paging import page

_POST = """
SELECT p.id, p.title, p.body, p.score, p.comments, extract(epoch FROM p.at)::float8 AS at, u.name AS author, c.name AS community
FROM posts p JOIN users u ON u.id = p.author JOIN communities c ON c.id = p.community WHERE p.id = $1"""
# Paged by what answers the post itself; every such comment comes with all its replies.
_COMMENTS = """
WITH tops AS (SELECT id FROM comments WHERE post = $1 AND parent IS NULL AND id < $2 ORDER BY id DESC LIMIT $3)
SELECT c.id, c.parent, c.body, c.score, extract(epoch FROM c.at)::float8 AS at, u.name AS author
FROM tops JOIN comments c ON c.post = $1 AND c.root = tops.id JOIN users u ON u.id = c.author ORDER BY c.id"""


def routes(site: Site) -> list[Route]:
    """The pages of this file."""

    async def load(post: int, after: int | None, size: int) -> dict[str, Any]:
        async with site.database.connection() as connection:
            found = await connection.fetchrow(_POST, post)
            if found is None:
                raise HTTPException(404, f"there is no post {post}")
            rows = await connection.fetch(_COMMENTS, post, LARGEST if after is None else after, size)
        return {"post": dict(found), "comments": [dict(row) for row in rows]}

    async def thread(request: Request, visitor: Visitor | None) -> dict[str, Any]:
        post, asked = item_of(request, "post"), page(request)
        edition = await site.editions.latest(post)
        key = f"{post}:{edition}:{asked.after}:{asked.size}"
        found = await site.threads.get_or(key, lambda: load(post, asked.after, asked.size))
        cast = await own_votes(site, visitor, "post", [post])
        comments = found["comments"]
        cast_below = await own_votes(site, visitor, "comment", [comment["id"] for comment in comments])
        tops = tree(comments, cast_below, time.time())
        return {
            "post": shown(found["post"], cast.get(post, 0), time.time()),
            "comments": tops,
            "next": tops[-1]["id"] if len(tops) == asked.size else None,
        }

    return [Route("/posts/{id:int}", reading(site, thread))]


def shown(row: Mapping[str, Any], vote: int, now: float) -> dict[str, Any]:
    """A post or comment with its text as HTML, its age and the visitor's own vote."""
    rest = {name: value for name, value in row.items() if name != "body"}
    return {**rest, "age": age(row["at"], now), "html": render(row["body"]), "vote": vote}


def tree(rows: Sequence[Mapping[str, Any]], votes: Mapping[int, int], now: float) -> list[dict[str, Any]]:
    """Comments under what they answer: the newest first at the top, replies in the order they were written."""
    tops: list[dict[str, Any]] = []
    known: dict[int, dict[str, Any]] = {}
    for row in rows:
        comment = known[row["id"]] = {**shown(row, votes.get(row["id"], 0), now), "replies": []}
        above = tops if row["parent"] is None else known[row["parent"]]["replies"]
        above.append(comment)
    return tops[::-1]
