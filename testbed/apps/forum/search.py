"""search: posts by their words, by Postgres's full text search."""

from __future__ import annotations

import logging
import re

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.forum.markup import cut
from apps.forum.schema import Tables
from kit.database import Database
from kit.paging import page
from kit.service import Resource, run
from kit.settings import Settings

log = logging.getLogger(__name__)
LONGEST = 200
RANKED = 60
"""So many of the newest hits are ranked: to rank a text is to parse it."""
AROUND = 160
_WORDS = "to_tsvector('english', p.title || ' ' || p.body)"
_SEARCH = f"""
WITH hits AS MATERIALIZED (SELECT p.id FROM posts p WHERE {_WORDS} @@ websearch_to_tsquery('english', $1)),
  newest AS (SELECT id, count(*) OVER () AS found FROM hits ORDER BY id DESC LIMIT $2)
SELECT p.id, p.title, p.body, p.score, p.comments, extract(epoch FROM p.at)::float8 AS at, u.name AS author, c.name AS community,
  found, ts_rank({_WORDS}, websearch_to_tsquery('english', $1)) AS rank
FROM newest JOIN posts p USING (id) JOIN users u ON u.id = p.author JOIN communities c ON c.id = p.community
ORDER BY rank DESC, p.id DESC LIMIT $3"""


def passage(body: str, words: list[str]) -> str:
    """The part of a text around the first of the words, or its beginning."""
    text = " ".join(body.split())
    places = [found.start() for word in words if (found := re.search(re.escape(word), text, re.IGNORECASE))]
    start = max(0, min(places, default=0) - AROUND // 3)
    if start:
        start = text.find(" ", start) + 1
    return cut(text[start:], AROUND)


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database = Database(settings, size=6)

    async def search(request: Request) -> Response:
        query = request.query_params.get("q", "").replace("\0", " ").strip()[:LONGEST]
        if not query:
            return JSONResponse({"found": 0, "posts": []})
        async with database.connection() as connection:
            rows = await connection.fetch(_SEARCH, query, RANKED, page(request).size)
        words = re.findall(r"\w+", query.lower())
        posts = [{**row, "body": passage(row["body"], words)} for row in map(dict, rows)]
        found = posts[0]["found"] if posts else 0
        log.info("%d posts for %d words", found, len(words))
        return JSONResponse({"found": found, "posts": posts})

    return [Route("/search", search)], [database, Tables(database)]


if __name__ == "__main__":
    run(make)
