"""A person with a browser: one session at a time, and a memory of what was done in it."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx

from testbed.users.notes import PATIENCE_SECONDS

CARD = "4242 4242 4242 4242"
_PRODUCTS = 3900
"""The shop has more, but those sell out."""


class NotReachedError(Exception):
    """A step before the feature failed, so nothing can be said of the feature itself."""


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was put in the cart; ``price`` in cents."""

    product: int
    name: str
    price: int
    quantity: int

    @property
    def amount(self) -> int:
        """What all of it costs."""
        return self.price * self.quantity

    @property
    def due(self) -> int:
        """What an order of it alone costs, with delivery."""
        return self.amount + (0 if self.amount >= 10_000 else 490)


class Shopper:
    """Walks the shop. ``ask`` is a visit to the feature itself and is timed; ``reach`` is a step on the way there."""

    def __init__(self, url: str, number: int = 0) -> None:
        # Patience ends by one clock for the whole answer, not by one for each part of it.
        self.client = httpx.AsyncClient(base_url=url, timeout=None)
        self.products = itertools.cycle(range(1 + 37 * number, _PRODUCTS, 97))
        self.at = time.time()
        self.seconds = 0.0
        self.cart: Line | None = None
        self.order: tuple[int, int] | None = None
        self._visits = 0

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """One request with the clock running. Raises ``TimeoutError`` when patience ends, ``httpx.TransportError``."""
        self.at, began = time.time(), time.perf_counter()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self.client.request(method, path, **options)
        finally:
            self.seconds = time.perf_counter() - began

    async def reach(self, path: str, body: dict[str, Any]) -> Any:
        """POST on the way to a feature. Raises ``NotReachedError`` when it does not work."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                answer = await self.client.post(path, json=body)
                return answer.raise_for_status().json()
        except (TimeoutError, httpx.HTTPError, ValueError) as error:
            raise NotReachedError(path) from error

    async def fill(self, quantity: int) -> Line:
        """A product put into a new session's cart. Raises ``NotReachedError``."""
        self.client.cookies.clear()
        number = next(self.products)
        page = await self.reach("/cart", {"product": number, "quantity": quantity})
        return Line(number, str(page["name"]), int(page["price"]), quantity)

    async def pay(self, amount: int) -> str:
        """A token for the amount. Raises ``NotReachedError``."""
        return str((await self.reach("/payment", {"card": CARD, "amount": amount}))["token"])

    async def buy(self) -> tuple[int, int]:
        """Number and total of an order placed in a new session. Raises ``NotReachedError``."""
        line = await self.fill(1)
        token = await self.pay(line.due)
        placed = await self.reach("/checkout", {"token": token, "key": secrets.token_hex(8)})
        return int(placed["order"]), line.due

    def turns(self, every: int) -> bool:
        """True at each ``every``-th time: when somebody else sits down at the browser."""
        self._visits += 1
        return self._visits % every == 0

    async def anew(self, start: Callable[[], Awaitable[None]], has_old: bool) -> None:
        """Start a new session; where that fails, go on with the old one if there is one, else ``NotReachedError``."""
        kept = self.client.cookies
        self.client.cookies = httpx.Cookies()
        try:
            await start()
        except NotReachedError:
            self.client.cookies = kept
            if not has_old:
                raise
