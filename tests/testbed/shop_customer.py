"""A customer of the shop for its invariants: patient, honest, and with a good memory."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from testbed.stack.project import find_project

CARD = "4242 4242 4242 4242"
PASSWORD = "seven grey geese"
PLACING = "this order is being placed"


class Customer:
    """One browser. Steps that must work fail the test with what the shop said."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.email = ""

    async def get(self, path: str, **params: Any) -> Any:
        """A page that must be there."""
        answer = await self.client.get(path, params=params)
        assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()

    async def post(self, path: str, body: object, status: int = 200) -> Any:
        """A form that must be taken."""
        answer = await self.client.post(path, json=body)
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()

    async def join(self) -> str:
        """A new account, signed in; gives its address."""
        self.email = f"{secrets.token_hex(8)}@example.org"
        await self.post("/register", {"email": self.email, "password": PASSWORD, "name": "Emre"}, 201)
        return self.email

    async def sign_in(self, email: str, password: str = PASSWORD) -> None:
        """Sign in with an account that there is."""
        self.email = email
        await self.post("/login", {"email": email, "password": password})

    async def put_in(self, product: int, quantity: int = 1) -> None:
        """Add to the cart."""
        await self.post("/cart", {"product": product, "quantity": quantity})

    async def quote(self, country: str = "DE") -> dict[str, Any]:
        """What the cart costs with its delivery."""
        quoted: dict[str, Any] = await self.get("/shipping", country=country)
        return quoted

    async def pay(self, amount: int) -> str:
        """A token for the amount."""
        return str((await self.post("/payment", {"card": CARD, "amount": amount}))["token"])

    async def check_out(self, token: str, key: str = "", country: str = "DE") -> httpx.Response:
        """Order; again with the same key where the shop did not say yes or no."""
        order = {"token": token, "key": key or secrets.token_hex(8), "country": country}
        for _ in range(12):
            answer = await self.client.post("/checkout", json=order)
            if answer.status_code < 500 and PLACING not in answer.text:
                break
            await asyncio.sleep(1.0)
        return answer

    async def buy(self, product: int, quantity: int = 1) -> dict[str, Any]:
        """An order of one product that must succeed."""
        await self.put_in(product, quantity)
        answer = await self.check_out(await self.pay((await self.quote())["due"]))
        assert answer.status_code == 200, answer.text
        placed: dict[str, Any] = answer.json()
        return placed

    async def all_of(self, path: str, entries: str, size: int = 50, **params: Any) -> list[dict[str, Any]]:
        """All entries of a list, page by page."""
        found: list[dict[str, Any]] = []
        following: dict[str, Any] = {}
        while True:
            page = await self.get(path, size=size, **params, **following)
            assert len(page[entries]) <= size
            found += page[entries]
            if page["next"] is None:
                return found
            following = {"after": page["next"]}

    async def message_of(self, order: int, within: float = 15.0) -> dict[str, Any]:
        """The confirmation of an order, once it has arrived."""
        deadline = asyncio.get_running_loop().time() + within
        while True:
            found = [m for m in await self.all_of("/inbox", "messages") if m["order"] == order]
            if found:
                return found[0]
            assert asyncio.get_running_loop().time() < deadline, f"no confirmation of order {order} within {within} s"
            await asyncio.sleep(0.3)


@asynccontextmanager
async def customer() -> AsyncIterator[Customer]:
    """Somebody with a new browser."""
    # A connection for each step: one that idles may be closed by the shop just when it is needed.
    limits = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=find_project("shop").url, timeout=20.0, limits=limits) as client:
        yield Customer(client)
