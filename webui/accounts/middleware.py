"""Authenticates requests and enforces roles. No other module enforces roles."""

from __future__ import annotations

import re
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from revelio.errors import StoreError
from revelio.store import Person, Store, allows
from revelio.support.current_actor import set_current_actor
from webui.accounts.identity import address_of, person_of
from webui.accounts.permissions import need_of
from webui.accounts.rate_limit import RateLimit
from webui.errors import for_program, problem_response
from webui.i18n import gettext
from webui.views.filters import seconds
from webui.views.words import word

_SAFE = ("GET", "HEAD", "OPTIONS")
_UNCOUNTED = re.compile(r"/static/.*|/healthz|/readyz|/metrics")
"""What monitoring asks for, and what a page is made of."""
_DELIVERED = re.compile(r"/api/v1/webhooks/(alertmanager|grafana|pagerduty)|/slack/(events|commands|actions)")
_DELIVERIES = 4
"""So many times the rate limit: a sender of alerts or messages sends for all of its people, and does not try again."""
_WRONG_TOKENS = (30, 10.0)
"""Unknown tokens from one address: so many at once, then one every so many seconds."""


class AccessMiddleware:
    """Finds out who sends a request, and refuses what they may not do.

    With ``required`` False (loopback, no accounts) all requests are allowed, within the rate limit.
    """

    def __init__(self, app: ASGIApp, store: Store, *, required: bool, per_minute: int) -> None:
        self.app = app
        self.store = store
        self.required = required
        self.pace, self.deliveries = _pace(per_minute), _pace(_DELIVERIES * per_minute)
        self.strangers = RateLimit(*_WRONG_TOKENS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http":
            request = Request(scope)
            refused = await self._admit(request) if self.required else self._count(request, address_of(request))
            if refused is not None:
                await refused(scope, receive, send)
                return
            person = person_of(request)
            set_current_actor(person.name if person else "", address_of(request))
        await self.app(scope, receive, send)

    async def _admit(self, request: Request) -> Response | None:
        need = need_of(request.method, request.scope["path"])
        if need == "anybody":
            return self._count(request, address_of(request))
        try:
            person = await run_in_threadpool(self._identify, request)
        except StoreError as error:
            return problem_response(request, 503, str(error))
        if person is None:
            return self._sign_in(request)
        request.state.person = person
        if person.means == "session" and request.method not in _SAFE and not _from_a_page(request):
            words = gettext("A browser that is signed in has to say where a change comes from; programs use a token.")
            return problem_response(request, 403, words)
        if not allows(person.role, need):
            words = gettext("This needs the role %(need)s; %(name)s is a %(role)s here. Ask an admin.")
            return problem_response(request, 403, words % {"need": word(need), "name": person.name, "role": word(person.role)})
        return self._count(request, f"user {person.user_id}")

    def _count(self, request: Request, caller: str) -> Response | None:
        path = request.scope["path"]
        pace = self.deliveries if _DELIVERED.fullmatch(path) else self.pace
        if pace is None or _UNCOUNTED.fullmatch(path):
            return None
        wait = pace.wait(caller)
        return _slow_down(request, wait) if wait else None

    def _identify(self, request: Request) -> Person | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self.store.tokens.find(token.strip())
        cookie = request.cookies.get(cookie_name(request))
        return self.store.sessions.find(cookie) if cookie else None

    def _sign_in(self, request: Request) -> Response:
        if "authorization" in request.headers:
            wait = self.strangers.wait(address_of(request))
            if wait:
                return _slow_down(request, wait)
        if for_program(request):
            detail = "Send a token: `Authorization: Bearer rvl_...`. /account or `revelio tokens create` makes one."
            return problem_response(request, 401, detail, headers={"WWW-Authenticate": "Bearer"})
        there = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        onward = f"?next={quote(there, safe='/')}" if request.method == "GET" and there != "/" else ""
        return RedirectResponse(f"/sign-in{onward}", 303)


def _pace(per_minute: int) -> RateLimit | None:
    # A quarter of a minute's worth may come at once: a page loads in a burst.
    return RateLimit(max(1, per_minute // 4), 60 / per_minute) if per_minute else None


def cookie_name(request: Request) -> str:
    """The name of the session's cookie. Under TLS no other host or path can set one of that name."""
    return "__Host-revelio" if request.url.scheme == "https" else "revelio"


def _from_a_page(request: Request) -> bool:
    # SameOrigin has checked both already wherever they are sent; here they must be there.
    return "sec-fetch-site" in request.headers or "origin" in request.headers


def _slow_down(request: Request, wait: int) -> Response:
    words = gettext("Too many requests. Wait %(time)s and try again.") % {"time": seconds(wait)}
    return problem_response(request, 429, words, headers={"Retry-After": str(wait)})
