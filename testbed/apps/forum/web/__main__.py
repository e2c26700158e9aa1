"""The web tier: one process, all pages."""

from __future__ import annotations

from starlette.routing import Route

from apps.forum.web import accounts, lists, mail, profiles, searching, threads, voting, writing
from apps.forum.web.site import Site
from kit.service import Resource, run
from kit.settings import Settings


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    site = Site(settings)
    families = (accounts, lists, mail, profiles, searching, threads, voting, writing)
    return [route for family in families for route in family.routes(site)], site.resources


if __name__ == "__main__":
    run(make)
