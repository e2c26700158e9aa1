"""The front page, and one community's page."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from apps.forum.ranking import FRONT_PAGE_SCORE
from apps.forum.web.cards import COLUMNS, JOINS, cards, next_page
from apps.forum.web.site import LARGEST, Site, Visitor, reading
from kit.paging import page

_HOTTEST = f"""
SELECT {COLUMNS} FROM posts p {JOINS}
WHERE p.score >= {FRONT_PAGE_SCORE} AND ($1::bigint IS NULL OR (p.hot, p.id) < (SELECT hot, id FROM posts WHERE id = $1))
ORDER BY p.hot DESC, p.id DESC LIMIT $2"""
_NEWEST = f"SELECT {COLUMNS} FROM posts p {JOINS} WHERE p.community = $1 AND p.id < $2 ORDER BY p.id DESC LIMIT $3"


def routes(site: Site) -> list[Route]:
    """The pages of this file."""

    async def hottest(after: int | None, size: int) -> list[dict[str, Any]]:
        async with site.database.connection() as connection:
            return [dict(row) for row in await connection.fetch(_HOTTEST, after, size)]

    async def known() -> list[dict[str, Any]]:
        async with site.database.connection() as connection:
            return [dict(row) for row in await connection.fetch("SELECT id, name, title, about FROM communities ORDER BY name")]

    async def front(request: Request, visitor: Visitor | None) -> dict[str, Any]:
        asked = page(request, default=25)
        rows = await site.hottest.get_or(f"{asked.after}:{asked.size}", lambda: hottest(asked.after, asked.size))
        communities = await site.communities.get_or("all", known)
        return {
            "posts": await cards(site, rows, visitor),
            "communities": [community["name"] for community in communities],
            "next": next_page(rows, asked.size),
        }

    async def community(request: Request, visitor: Visitor | None) -> dict[str, Any]:
        asked, name = page(request, default=25), request.path_params["name"]
        found = {each["name"]: each for each in await site.communities.get_or("all", known)}.get(name)
        if found is None:
            raise HTTPException(404, f"there is no community {name}")
        async with site.database.connection() as connection:
            after = LARGEST if asked.after is None else asked.after
            rows = [dict(row) for row in await connection.fetch(_NEWEST, found["id"], after, asked.size)]
        shown = {"name": name, "title": found["title"], "about": found["about"]}
        return {"community": shown, "posts": await cards(site, rows, visitor), "next": next_page(rows, asked.size)}

    return [Route("/", reading(site, front)), Route("/c/{name}", reading(site, community))]
