"""The pages, for people: one file each. Plain forms: everything works without scripts, and a script may ask for a part alone."""

from __future__ import annotations

from fastapi import APIRouter

from webui.pages import answer, ask, catalog, history, model, progress, settings, systems

pages = APIRouter(include_in_schema=False)
for _page in (ask, progress, answer, history, systems, catalog, model, settings):
    pages.include_router(_page.router)
