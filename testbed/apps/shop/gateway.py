"""gateway: the shop's public address. Sessions live in a cookie."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.pricing import sign
from kit.bodies import body_of, word
from kit.peers import Peer
from kit.service import Resource, run
from kit.settings import Settings

_SESSION = re.compile(r"^[0-9a-f]{32}$")


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes; the gateway keeps nothing itself."""
    products, cart, orders, payment = (
        Peer(n, settings.peer(n), timeout=3.0, connections=40) for n in ("products", "cart", "orders", "payment")
    )

    async def home(_: Request, __: str) -> Any:
        return await products.get("/featured")

    async def product(request: Request, _: str) -> Any:
        return await products.get(f"/products/{request.path_params['id']}")

    async def search(request: Request, _: str) -> Any:
        return await products.get("/search", q=request.query_params.get("q", ""))

    async def add_to_cart(request: Request, session: str) -> Any:
        return await cart.post(f"/carts/{session}/lines", await body_of(request))

    async def view_cart(_: Request, session: str) -> Any:
        return await cart.get(f"/carts/{session}")

    async def change_cart(request: Request, session: str) -> Any:
        return await cart.put(f"/carts/{session}/lines/{request.path_params['product']}", await body_of(request))

    async def drop_from_cart(request: Request, session: str) -> Any:
        return await cart.put(f"/carts/{session}/lines/{request.path_params['product']}", {"quantity": 0})

    async def pay(request: Request, _: str) -> Any:
        return await payment.post("/authorisations", await body_of(request))

    async def checkout(request: Request, session: str) -> Any:
        body = await body_of(request)
        token = word(body, "token")
        return await orders.post(
            "/orders", {"session": session, "key": word(body, "key") if "key" in body else secrets.token_hex(8), "token": token}
        )

    async def my_orders(_: Request, session: str) -> Any:
        return await orders.get(f"/orders/{session}")

    routes = [
        Route("/", _page(home)),
        Route("/products/{id:int}", _page(product)),
        Route("/search", _page(search)),
        Route("/cart", _page(view_cart)),
        Route("/cart", _page(add_to_cart), methods=["POST"]),
        Route("/cart/{product:int}", _page(change_cart), methods=["PUT"]),
        Route("/cart/{product:int}", _page(drop_from_cart), methods=["DELETE"]),
        Route("/payment", _page(pay), methods=["POST"]),
        Route("/checkout", _page(checkout), methods=["POST"]),
        Route("/orders", _page(my_orders)),
    ]
    return routes, [products, cart, orders, payment]


def _page(handler: Callable[[Request, str], Awaitable[Any]]) -> Callable[[Request], Awaitable[Response]]:
    """A handler that is given the visitor's session, made on the first visit."""

    async def page(request: Request) -> Response:
        known = request.cookies.get("session", "")
        session = known if _SESSION.match(known) else secrets.token_hex(16)
        body = await handler(request, session)
        response = JSONResponse(body, headers={"X-Page": sign(f"{request.url.path}/{session}")[:12]})
        response.set_cookie("session", session, httponly=True, samesite="lax", max_age=1800)
        return response

    return page


if __name__ == "__main__":
    run(make)
