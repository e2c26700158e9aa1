"""A customer of the shop: what was put in the cart, paid and ordered, and what must therefore be seen."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from testbed.users.person import Person, Seen, seen

CARD = "4242 4242 4242 4242"
SESSION_VISITS = 4
"""Visits to cart or orders by one person, before the next has a look."""
_PRODUCTS = 3900
"""The shop has more, but those sell out."""


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


class Visitor(Person):
    """A customer."""

    def __init__(self, url: str, number: int = 0) -> None:
        super().__init__(url, number)
        self.products = itertools.cycle(range(1 + 37 * number, _PRODUCTS, 97))
        self.cart: Line | None = None
        self.order: tuple[int, int] | None = None

    async def fill(self, quantity: int) -> Line:
        """A product put into a new session's cart. Raises ``NotReachedError``."""
        self.client.cookies.clear()
        number = next(self.products)
        page = await self.reach("POST", "/cart", {"product": number, "quantity": quantity})
        return Line(number, str(page["name"]), int(page["price"]), quantity)

    async def pay(self, amount: int) -> str:
        """A token for the amount. Raises ``NotReachedError``."""
        return str((await self.reach("POST", "/payment", {"card": CARD, "amount": amount}))["token"])

    async def buy(self) -> tuple[int, int]:
        """Number and total of an order placed in a new session. Raises ``NotReachedError``."""
        line = await self.fill(1)
        token = await self.pay(line.due)
        placed = await self.reach("POST", "/checkout", {"token": token, "key": secrets.token_hex(8)})
        return int(placed["order"]), line.due


def _spoken(name: str) -> str:
    """How a person calls an article: without its number."""
    return name.partition(" no. ")[0].lower()


async def home(user: Visitor) -> Seen:
    """The front page has products."""
    return seen(await user.ask("GET", "/"), lambda page: "" if page["products"] else "missing_data")


async def product(user: Visitor) -> Seen:
    """The page shows the product that was asked for, at the price on its tag."""
    number = next(user.products)

    def wrong(page: Any) -> str:
        cents = f"{page['price'] // 100}.{page['price'] % 100:02d}"
        return "" if page["id"] == number and page["tag"]["EUR"] == cents else "wrong_data"

    return seen(await user.ask("GET", f"/products/{number}"), wrong, lambda page: _spoken(page["name"]))


async def search(user: Visitor) -> Seen:
    """A word that many products have finds some, and only such."""
    word = secrets.choice(("lamp", "shirt", "towel", "kettle", "wool"))

    def wrong(page: Any) -> str:
        if not page["products"]:
            return "missing_data"
        return "" if all(word in p["name"].lower() or word == p["category"] for p in page["products"]) else "wrong_data"

    return seen(await user.ask("GET", "/search", params={"q": word}), wrong)


async def cart_add(user: Visitor) -> Seen:
    """Adding two of a product into a fresh cart leaves two there."""
    user.client.cookies.clear()
    number = next(user.products)
    answer = await user.ask("POST", "/cart", json={"product": number, "quantity": 2})

    def wrong(page: Any) -> str:
        return "" if (page["product"], page["quantity"]) == (number, 2) else "wrong_data"

    return seen(answer, wrong, lambda page: _spoken(page["name"]))


async def cart_view(user: Visitor) -> Seen:
    """The cart holds what was put in, and the total adds up."""

    async def start() -> None:
        user.cart = await user.fill(3)

    if user.turns(SESSION_VISITS) or user.cart is None:
        await user.anew(start, has_old=user.cart is not None)
    put = user.cart
    assert put is not None
    answer = await user.ask("GET", "/cart")

    def wrong(page: Any) -> str:
        if not page["lines"]:
            user.cart = None
            return "lost_state"
        held = [(x["product"], x["price"], x["quantity"]) for x in page["lines"]]
        return "" if held == [(put.product, put.price, put.quantity)] and page["total"] == put.amount else "wrong_data"

    return seen(answer, wrong, lambda _: _spoken(put.name))


async def payment(user: Visitor) -> Seen:
    """A good card is accepted."""
    answer = await user.ask("POST", "/payment", json={"card": CARD, "amount": 490 + secrets.randbelow(20_000)})
    return seen(answer, lambda page: "" if page.get("token") else "missing_data")


async def checkout(user: Visitor) -> Seen:
    """The order costs what the cart did, with its delivery."""
    put = await user.fill(1)
    token = await user.pay(put.due)
    answer = await user.ask("POST", "/checkout", json={"token": token, "key": secrets.token_hex(8)})
    return seen(
        answer, lambda page: "" if page["total"] == put.due and page["order"] else "wrong_data", lambda _: _spoken(put.name)
    )


async def orders(user: Visitor) -> Seen:
    """An order that was placed is in the list, at its price."""

    async def start() -> None:
        user.order = await user.buy()

    if user.turns(SESSION_VISITS) or user.order is None:
        await user.anew(start, has_old=user.order is not None)
    known = user.order
    answer = await user.ask("GET", "/orders")

    def wrong(page: Any) -> str:
        totals = {order["order"]: order["total"] for order in page["orders"]}
        if known is None or known[0] not in totals:
            user.order = None
            return "missing_data"
        return "" if totals[known[0]] == known[1] else "wrong_data"

    return seen(answer, wrong)


FEATURES: dict[str, Callable[[Visitor], Awaitable[Seen]]] = {
    f.__name__: f for f in (home, product, search, cart_add, cart_view, payment, checkout, orders)
}
