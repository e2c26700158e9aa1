"""gateway: the shop's public address. Browsers have a session in a cookie; who signs in gets a second one.

Orders, payments and messages belong to the account of whoever is signed in, else to the browser's session.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.pricing import sign
from kit.bodies import body_of, optional_word, word
from kit.peers import Peer, PeerError, peer
from kit.service import Resource, run
from kit.settings import Settings

_SESSION = re.compile(r"^[0-9a-f]{32}$")
_COUNTRY = re.compile(r"^[A-Z]{2}$")
_ACCOUNT = "account"
_KEEP = 1800
STRIP_SECONDS = 0.8
"""So long does a product's page wait for what is only nice to have."""


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes; the gateway keeps nothing itself."""
    peers = {n: peer(settings, n, timeout=3.0, connections=40) for n in ("products", "search", "users", "cart", "payment")}
    peers |= {n: peer(settings, n, timeout=3.0, connections=40) for n in ("shipping", "recommendations", "notifier")}
    peers["orders"] = peer(settings, "orders", timeout=8.0, connections=40)
    products, users, cart, orders, payment = (peers[n] for n in ("products", "users", "cart", "orders", "payment"))
    notifier = peers["notifier"]

    async def home(_: Request, __: str) -> Any:
        return await products.get("/featured")

    async def product(request: Request, _: str) -> Any:
        number = request.path_params["id"]
        page, strip = await asyncio.gather(
            products.get(f"/products/{number}"), _or_nothing(peers["recommendations"].get(f"/strips/{number}"))
        )
        return page | {"also": strip["products"] if strip else []}

    async def recommendations(request: Request, _: str) -> Any:
        return await peers["recommendations"].get(f"/strips/{request.path_params['id']}")

    async def search(request: Request, _: str) -> Any:
        return await peers["search"].get("/search", q=request.query_params.get("q", ""), **_page_of(request))

    async def add_to_cart(request: Request, session: str) -> Any:
        return await cart.post(f"/carts/{session}/lines", await body_of(request))

    async def view_cart(_: Request, session: str) -> Any:
        return await cart.get(f"/carts/{session}")

    async def change_cart(request: Request, session: str) -> Any:
        return await cart.put(f"/carts/{session}/lines/{request.path_params['product']}", await body_of(request))

    async def drop_from_cart(request: Request, session: str) -> Any:
        return await cart.put(f"/carts/{session}/lines/{request.path_params['product']}", {"quantity": 0})

    async def quote(request: Request, session: str) -> Any:
        country = _country(request.query_params.get("country", "DE"))
        held = await cart.get(f"/carts/{session}")
        return await peers["shipping"].get("/quotes", country=country, grams=held["grams"], goods=held["total"])

    async def pay(request: Request, session: str) -> Any:
        body, owner = await asyncio.gather(body_of(request), _owner(users, request, session))
        return await payment.post("/authorisations", body | {"owner": owner})

    async def checkout(request: Request, session: str) -> Any:
        body, owner = await asyncio.gather(body_of(request), _owner(users, request, session))
        order = {"owner": owner, "session": session, "token": word(body, "token")}
        key = word(body, "key") if "key" in body else secrets.token_hex(8)
        return await orders.post("/orders", order | {"key": key, "country": _country(optional_word(body, "country", "DE"))})

    async def my_orders(request: Request, session: str) -> Any:
        return await orders.get(f"/orders/{await _owner(users, request, session)}", **_page_of(request))

    async def my_payments(request: Request, session: str) -> Any:
        return await payment.get(f"/payments/{await _owner(users, request, session)}", **_page_of(request))

    async def inbox(request: Request, session: str) -> Any:
        return await notifier.get(f"/inboxes/{await _owner(users, request, session)}", **_page_of(request))

    async def read_inbox(request: Request, session: str) -> Any:
        body, owner = await asyncio.gather(body_of(request), _owner(users, request, session))
        return await notifier.post(f"/inboxes/{owner}/read", body)

    async def register(request: Request, _: str) -> Any:
        return _signed_in(await users.post("/accounts", await body_of(request)), 201)

    async def login(request: Request, _: str) -> Any:
        return _signed_in(await users.post("/sessions", await body_of(request)), 200)

    async def logout(request: Request, _: str) -> Any:
        token = request.cookies.get(_ACCOUNT, "")
        if _SESSION.match(token):
            await users.delete(f"/sessions/{token}")
        response = JSONResponse({})
        response.delete_cookie(_ACCOUNT, httponly=True, samesite="lax")
        return response

    async def account(request: Request, session: str) -> Any:
        owner = await _owner(users, request, session)
        if owner == session:
            raise HTTPException(401, "you are not signed in")
        person, waiting = await asyncio.gather(
            users.get(f"/accounts/{owner.removeprefix('account:')}"), _or_nothing(notifier.get(f"/inboxes/{owner}/unread"))
        )
        return person | {"unread": waiting["unread"] if waiting else None}

    routes = [
        Route("/", _page(home)),
        Route("/products/{id:int}", _page(product)),
        Route("/products/{id:int}/recommendations", _page(recommendations)),
        Route("/search", _page(search)),
        Route("/cart", _page(view_cart)),
        Route("/cart", _page(add_to_cart), methods=["POST"]),
        Route("/cart/{product:int}", _page(change_cart), methods=["PUT"]),
        Route("/cart/{product:int}", _page(drop_from_cart), methods=["DELETE"]),
        Route("/shipping", _page(quote)),
        Route("/payment", _page(pay), methods=["POST"]),
        Route("/payments", _page(my_payments)),
        Route("/checkout", _page(checkout), methods=["POST"]),
        Route("/orders", _page(my_orders)),
        Route("/inbox", _page(inbox)),
        Route("/inbox/read", _page(read_inbox), methods=["POST"]),
        Route("/register", _page(register), methods=["POST"]),
        Route("/login", _page(login), methods=["POST"]),
        Route("/logout", _page(logout), methods=["POST"]),
        Route("/account", _page(account)),
    ]
    return routes, [*peers.values()]


async def _owner(users: Peer, request: Request, session: str) -> str:
    """Whose orders and messages these are; 401 when a sign-in has ended. A guest's are the browser session's."""
    token = request.cookies.get(_ACCOUNT, "")
    if not token:
        return session
    if not _SESSION.match(token):
        raise HTTPException(401, "you are not signed in any more")
    return f"account:{(await users.get(f'/sessions/{token}'))['account']}"


async def _or_nothing(asked: Awaitable[Any]) -> Any:
    """What a page can do without: None when it does not come soon."""
    try:
        async with asyncio.timeout(STRIP_SECONDS):
            return await asked
    except (PeerError, TimeoutError):
        return None


def _signed_in(found: dict[str, Any], status: int) -> Response:
    response = JSONResponse({"account": found["account"]}, status)
    response.set_cookie(_ACCOUNT, found["token"], httponly=True, samesite="lax", max_age=_KEEP)
    return response


def _page_of(request: Request) -> dict[str, str | int]:
    """Which page of a list is meant; whoever keeps the list knows what makes sense."""
    return {name: request.query_params[name] for name in ("after", "size") if name in request.query_params}


def _country(code: str) -> str:
    if not _COUNTRY.match(code):
        raise HTTPException(400, "country must be two capital letters")
    return code


def _page(handler: Callable[[Request, str], Awaitable[Any]]) -> Callable[[Request], Awaitable[Response]]:
    """A handler that is given the browser's session, made on the first visit."""

    async def page(request: Request) -> Response:
        known = request.cookies.get("session", "")
        session = known if _SESSION.match(known) else secrets.token_hex(16)
        body = await handler(request, session)
        response = body if isinstance(body, Response) else JSONResponse(body)
        response.headers["X-Page"] = sign(f"{request.url.path}/{session}")[:12]
        response.set_cookie("session", session, httponly=True, samesite="lax", max_age=_KEEP)
        if request.cookies.get(_ACCOUNT) and not isinstance(body, Response):
            # As the session is prolonged with every use, so is its cookie.
            response.set_cookie(_ACCOUNT, request.cookies[_ACCOUNT], httponly=True, samesite="lax", max_age=_KEEP)
        return response

    return page


if __name__ == "__main__":
    run(make)
