"""The search page, which asks the search service."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from apps.forum.web.cards import cards
from apps.forum.web.site import Site, Visitor, reading
from kit.paging import page


def routes(site: Site) -> list[Route]:
    """The pages of this file."""

    async def search(request: Request, visitor: Visitor | None) -> dict[str, Any]:
        query = request.query_params.get("q", "")
        found = await site.searching.get("/search", q=query, size=page(request).size)
        return {"query": query, "found": found["found"], "posts": await cards(site, found["posts"], visitor)}

    return [Route("/search", reading(site, search))]
