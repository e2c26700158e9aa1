"""What a request must pass before it reaches a route, and the headers that every response carries."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webui.errors import problem_response
from webui.forms import begun_elsewhere
from webui.i18n import gettext
from webui.startup import is_loopback

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SecurityHeaders:
    """Puts the headers on every response. Answers are private: caches may store only ``/static``."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                if scope["scheme"] == "https":
                    headers["Strict-Transport-Security"] = "max-age=31536000"
                headers.setdefault("Cache-Control", "no-cache" if scope["path"].startswith("/static/") else "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class SameOrigin:
    """Refuses what another site makes a person's browser send: cross-site changes, and names rebound to this address.

    ``names`` are those that the server has, besides loopback and addresses.
    """

    def __init__(self, app: ASGIApp, names: Collection[str] = ()) -> None:
        self.app = app
        self.names = frozenset(name.lower().rstrip(".") for name in names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http":
            request = Request(scope)
            wrong = foreign_host(request.headers.get("host", ""), self.names) or (
                "" if request.method in ("GET", "HEAD", "OPTIONS") else cross_site(request)
            )
            if wrong:
                await problem_response(request, 403, wrong)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def foreign_host(host: str, names: Collection[str] = ()) -> str:
    """Why this Host header is refused; "" when it is not. Any other name may have been pointed here by a stranger."""
    name = urlsplit(f"//{host}").hostname if _is_netloc(host) else None
    if host and name is None:
        return gettext("The Host header is not an address.")
    if not name or is_loopback(name.rstrip(".")) or _is_address(name) or name.rstrip(".") in names:
        return ""
    return gettext(
        "This server does not answer to the name %(name)s. Use its address, http://127.0.0.1 or http://localhost with its "
        "port, or add the name to the setting `names`."
    ) % {"name": name}


def cross_site(request: Request) -> str:
    """Why this change is refused; "" when it is not. Programs send neither header and are let through."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        same = not begun_elsewhere(request)
    else:
        origin = request.headers.get("origin")
        same = origin is None or origin == f"{request.url.scheme}://{request.headers.get('host', '')}"
    return "" if same else gettext("The request came from another site. Open Revelio's own page and send it from there.")


class BodyLimit:
    """Refuses bodies over a number of bytes with 413, whether or not they declare their length."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        declared = request.headers.get("content-length", "0")
        parts: list[Message] = []
        size = int(declared) if declared.isdecimal() else 0
        # Reading ahead keeps the limit in one place; a body that passes is small.
        while size <= self.limit and (not parts or parts[-1].get("more_body", False)):
            parts.append(await receive())
            if parts[-1]["type"] == "http.disconnect":
                return  # half a request: no client waits for an answer
            size = max(size, sum(len(p.get("body", b"")) for p in parts))
        if size > self.limit:
            words = gettext("The request is larger than the %(size)s accepted. Shorten the report to what a user noticed.")
            await problem_response(request, 413, words % {"size": f"{self.limit // 1024:,} KiB"})(scope, receive, send)
            return

        async def replay() -> Message:
            return parts.pop(0) if parts else await receive()

        await self.app(scope, replay, send)


def _is_netloc(host: str) -> bool:
    try:
        return bool(urlsplit(f"//{host}").port or True) and not set(host) & set("/?#@ \\")
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    """Whether it is an IP address, and not one of the link itself: routers and clouds answer at those, this server does not."""
    try:
        found = ip_address(name)
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return not (mapped or found).is_link_local
