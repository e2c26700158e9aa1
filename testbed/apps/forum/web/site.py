"""What the pages share: stores, sessions, caches, and the way a page is made."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from redis import RedisError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from apps.forum.editions import Editions
from apps.forum.outbox import Outbox
from apps.forum.ranking import sign
from apps.forum.schema import Tables
from kit.cache import Store, cache
from kit.database import Database
from kit.peers import peer
from kit.service import Resource
from kit.sessions import Sessions
from kit.settings import Settings

log = logging.getLogger(__name__)
COOKIE = "session"
SESSION_SECONDS = 1800
LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who is signed in."""

    id: int
    name: str


class Site:
    """All that a page may need."""

    def __init__(self, settings: Settings) -> None:
        self.store = Store(settings.redis, connections=32)
        self.database = Database(settings, size=10)
        self.sessions = Sessions(self.store, SESSION_SECONDS)
        self.searching = peer(settings, "search", timeout=3.0)
        self.outbox = Outbox(self.database, self.store)
        self.editions = Editions(self.store)
        self.hottest = cache(settings, self.store, "front", seconds=5)
        self.threads = cache(settings, self.store, "threads", seconds=30)
        self.communities = cache(settings, self.store, "communities", seconds=60)

    @property
    def resources(self) -> list[Resource]:
        """In the order in which they are opened."""
        return [self.store, self.database, Tables(self.database), self.searching, self.outbox]

    async def visitor(self, request: Request) -> Visitor | None:
        """Who asks; None for somebody who is not signed in. Raises ``RedisError``."""
        token = request.cookies.get(COOKIE, "")
        who = await self.sessions.get(token) if token else None
        return Visitor(who["user"], who["name"]) if who else None

    async def thread_changed(self, post: int) -> None:
        """Show a post's thread anew; where Redis does not answer, it may take until the cached one runs out."""
        try:
            await self.editions.new(post)
        except RedisError:
            log.warning("the thread of post %d may be shown as it was for a while", post, exc_info=True)


@contextmanager
def sessions_needed() -> Iterator[None]:
    """503 when nobody can tell who is signed in."""
    try:
        yield
    except RedisError as error:
        log.exception("sessions do not answer")
        raise HTTPException(503, "signing in does not work right now") from error


Page = Callable[[Request], Awaitable[Response]]


def reading(site: Site, make: Callable[[Request, Visitor | None], Awaitable[dict[str, Any]]]) -> Page:
    """A page for everybody. Without Redis, those who are signed in read on as strangers."""

    async def page(request: Request) -> Response:
        try:
            visitor = await site.visitor(request)
        except RedisError:
            log.warning("sessions do not answer; showing %s as to a stranger", request.url.path, exc_info=True)
            visitor = None
        return _sealed(request, await make(request, visitor), visitor, 200)

    return page


def acting(site: Site, make: Callable[[Request, Visitor], Awaitable[dict[str, Any]]], status: int = 200) -> Page:
    """A page for those who are signed in: 401 for others, 503 when nobody can tell."""

    async def page(request: Request) -> Response:
        with sessions_needed():
            visitor = await site.visitor(request)
        if visitor is None:
            raise HTTPException(401, "sign in first")
        return _sealed(request, await make(request, visitor), visitor, status)

    return page


def _sealed(request: Request, content: dict[str, Any], visitor: Visitor | None, status: int) -> Response:
    """The page with the visitor's name, a seal, and a cookie that lasts as long as the session does."""
    name = visitor.name if visitor else None
    response = JSONResponse({**content, "user": name}, status)
    response.headers["X-Page"] = sign(f"{request.url.path}:{name}:{int(time.time() // 60)}")[:16]
    if visitor:
        sign_in(response, request.cookies[COOKIE])
    return response


def sign_in(response: Response, token: str) -> None:
    """Let the browser keep the session."""
    response.set_cookie(COOKIE, token, httponly=True, samesite="lax", max_age=SESSION_SECONDS)


def item_of(request: Request, what: str) -> int:
    """The number in a path; 404 when there cannot be such an item."""
    number: int = request.path_params["id"]
    if not 0 < number <= LARGEST:
        raise HTTPException(404, f"there is no {what} {number}")
    return number
