"""Posts as lists show them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

from apps.forum.markup import excerpt
from apps.forum.ranking import age
from apps.forum.web.site import Site, Visitor

COLUMNS = (
    "p.id, p.title, left(p.body, 400) AS body, p.score, p.comments, extract(epoch FROM p.at)::float8 AS at,"
    " u.name AS author, c.name AS community"
)
JOINS = "JOIN users u ON u.id = p.author JOIN communities c ON c.id = p.community"


async def cards(site: Site, posts: Iterable[Mapping[str, Any]], visitor: Visitor | None) -> list[dict[str, Any]]:
    """Posts with an excerpt, their age and the visitor's own votes."""
    rows = list(posts)
    cast = await own_votes(site, visitor, "post", [row["id"] for row in rows])
    now = time.time()
    return [
        {
            **{name: row[name] for name in ("id", "title", "community", "author", "score", "comments", "at")},
            "age": age(row["at"], now),
            "html": excerpt(row["body"]),
            "vote": cast.get(row["id"], 0),
        }
        for row in rows
    ]


async def own_votes(site: Site, visitor: Visitor | None, kind: str, items: list[int]) -> dict[int, int]:
    """What the visitor has cast on these items, whether it is counted yet or not."""
    if visitor is None or not items:
        return {}
    async with site.database.connection() as connection:
        rows = await connection.fetch(
            "SELECT item, value FROM votes WHERE voter = $1 AND kind = $2 AND item = ANY($3::bigint[])", visitor.id, kind, items
        )
    return {row["item"]: row["value"] for row in rows}


def next_page(rows: list[dict[str, Any]], size: int) -> int | None:
    """What to ask for ``after``, when a page is full; None at the end."""
    return rows[-1]["id"] if len(rows) == size else None
