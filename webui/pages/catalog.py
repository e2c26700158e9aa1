"""The catalog: every tool, every question that it can be asked, and what that shows."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from revelio.catalog import Catalog, ToolSpec
from revelio.types import QueryTemplate
from webui.deps import ServiceDep
from webui.views.contexts import CatalogPage, CatalogTool
from webui.views.templating import render

router = APIRouter(include_in_schema=False)


@router.get("/catalog")
def catalog(request: Request, service: ServiceDep, q: str = "", tool: str = "") -> Response:
    """The templates that hold every word of ``q``, of one tool or of all."""
    whole = service.catalog
    page = CatalogPage(
        tools=matching(whole, q, tool),
        names=tuple((t.name, t.title) for t in whole.tools),
        q=q,
        tool=tool,
        total=len(whole.templates),
    )
    return render(request, page)


def matching(whole: Catalog, words: str, tool: str = "") -> tuple[CatalogTool, ...]:
    """Tools with the templates in which each word occurs somewhere; tools without any are left out."""
    wanted = words.casefold().split()
    found = (
        CatalogTool(t.name, t.title, t.about, tuple(x for x in t.templates if _holds(t, x, wanted)))
        for t in whole.tools
        if tool in ("", t.name)
    )
    return tuple(t for t in found if t.templates)


def _holds(tool: ToolSpec, template: QueryTemplate, words: list[str]) -> bool:
    kinds = " ".join(b.kind for b in template.blanks)
    metrics = " ".join(f"{r.source} {r.metric}" for r in template.reads)
    parts = (tool.name, tool.title, template.id, template.title, template.shows, template.body, kinds, metrics)
    text = " ".join(parts).casefold()
    return all(word in text for word in words)
