"""A customer of the shop: what was put in the cart, paid and ordered, and what must therefore be seen."""

from __future__ import annotations

import datetime as dt
import itertools
import secrets
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Any

import httpx

from testbed.users.person import Person, Seen, seen

CARD = "4242 4242 4242 4242"
PASSWORD = "a lamp in the window"
SESSION_VISITS = 4
"""Visits to cart or orders by one person, before the next has a look."""
OLD_ACCOUNTS, OLD_PASSWORD = 20_000, "correct horse"
"""Customers of old, ``customerN@example.org``, and the password of each."""
PRODUCTS = 11_900
"""The shop has more, but those sell out."""
SEARCHED = ("lamp", "shirt", "towel", "kettle", "wool", "scarf", "mirror", "cork")
"""Words that many products have in their names."""
FREE_FROM = 10_000
PARCELS = ((2_000, 490), (10_000, 690), (31_500, 1_490))
"""What the shop promises for a parcel within Germany: grams up to which, cents; and free delivery from so many cents."""
CUT_OFF, DAYS = 14, 2
"""Ordered until this hour (UTC) it leaves the same day, and is so many working days on its way."""


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was put in the cart; ``price`` in cents, ``weight`` in grams."""

    product: int
    name: str
    price: int
    weight: int
    quantity: int

    @property
    def amount(self) -> int:
        """What all of it costs."""
        return self.price * self.quantity

    @property
    def delivery(self) -> int:
        """What its delivery costs within Germany."""
        grams = self.weight * self.quantity
        return 0 if self.amount >= FREE_FROM else next(cents for up_to, cents in PARCELS if grams <= up_to)

    @property
    def due(self) -> int:
        """What an order of it alone costs, with delivery."""
        return self.amount + self.delivery


@dataclass(frozen=True, slots=True)
class Order:
    """A placed order and what it cost, in cents."""

    number: int
    total: int


class Visitor(Person):
    """A customer."""

    def __init__(self, url: str, number: int = 0) -> None:
        super().__init__(url, number)
        self.products = itertools.cycle(range(1 + 37 * number, PRODUCTS, 97))
        self.email = ""
        self.cart: Line | None = None
        self.order: Order | None = None

    async def join(self) -> None:
        """An account, signed in: a new one at first and each few visits, as others come. Raises ``NotReachedError``."""

        async def start() -> None:
            email = _new_email(self.number)
            await self.reach("POST", "/register", {"email": email, "password": PASSWORD, "name": "Mina"})
            self.email, self.order = email, None

        if self.turns(SESSION_VISITS) or not self.email:
            await self.anew(start, has_old=bool(self.email))

    async def fill(self, quantity: int) -> Line:
        """A product put into a new session's cart, whoever is signed in. Raises ``NotReachedError``."""
        self.client.cookies.delete("session")
        number = next(self.products)
        page = await self.reach("POST", "/cart", {"product": number, "quantity": quantity})
        return Line(number, str(page["name"]), int(page["price"]), int(page["weight"]), quantity)

    async def pay(self, amount: int) -> str:
        """A token for the amount. Raises ``NotReachedError``."""
        return str((await self.reach("POST", "/payment", {"card": CARD, "amount": amount}))["token"])

    async def buy(self) -> Order:
        """An order of one product. Raises ``NotReachedError``."""
        line = await self.fill(1)
        token = await self.pay(line.due)
        placed = await self.reach("POST", "/checkout", {"token": token, "key": secrets.token_hex(8)})
        return Order(int(placed["order"]), line.due)

    async def then_account(self, entered: httpx.Response, email: str) -> Seen:
        """After signing in, the account's page, timed with it: who is not known there is not signed in."""
        if entered.status_code >= 400:
            return Seen(entered)
        at, seconds = self.at, self.seconds
        try:
            answer = await self.ask("GET", "/account")
        finally:
            self.at, self.seconds = at, seconds + self.seconds
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            return Seen(answer, "lost_state")
        return seen(answer, lambda page: "" if page["email"] == email else "lost_state")

    def signed_out(self, answer: httpx.Response) -> bool:
        """Whether the shop does not know who this is any more; the next visit then begins with a new account."""
        out = bool(self.email) and answer.status_code == httpx.codes.UNAUTHORIZED
        if out:
            self.email, self.order = "", None
        return out


def arrivals(now: dt.datetime) -> Collection[str]:
    """Days on which an order of this moment arrives in Germany; two around the cut-off, as clocks never quite agree."""
    return {_arrival(now + dt.timedelta(minutes=minutes)).isoformat() for minutes in (-2, 2)}


def _arrival(ordered: dt.datetime) -> dt.date:
    day = ordered.date() + dt.timedelta(days=ordered.hour >= CUT_OFF)
    while day.weekday() >= 5:
        day += dt.timedelta(days=1)
    for _ in range(DAYS):
        day += dt.timedelta(days=1)
        while day.weekday() >= 5:
            day += dt.timedelta(days=1)
    return day


def _new_email(number: int) -> str:
    return f"visitor{number}-{secrets.token_hex(6)}@example.org"


def _spoken(name: str) -> str:
    """How a person calls an article: without its number."""
    return name.partition(" no. ")[0].lower()


def _tagged(cents: int, tag: Any) -> bool:
    return bool(tag["EUR"] == f"{cents // 100}.{cents % 100:02d}")


async def home(user: Visitor) -> Seen:
    """The front page has products."""
    return seen(await user.ask("GET", "/"), lambda page: "" if page["products"] else "missing_data")


async def product(user: Visitor) -> Seen:
    """The page shows the product that was asked for, at the price on its tag."""
    number = next(user.products)

    def wrong(page: Any) -> str:
        return "" if page["id"] == number and _tagged(page["price"], page["tag"]) else "wrong_data"

    return seen(await user.ask("GET", f"/products/{number}"), wrong, lambda page: _spoken(page["name"]))


async def search(user: Visitor) -> Seen:
    """A word that many products have finds some, and only such."""
    word = secrets.choice(SEARCHED)

    def wrong(page: Any) -> str:
        if not page["products"]:
            return "missing_data"
        return "" if all(word in p["name"].lower() or word == p["category"] for p in page["products"]) else "wrong_data"

    return seen(await user.ask("GET", "/search", params={"q": word}), wrong)


async def login(user: Visitor) -> Seen:
    """Who has an account signs in with it, and is known on the account's page."""
    await user.join()
    user.client.cookies.clear()
    entered = await user.ask("POST", "/login", json={"email": user.email, "password": PASSWORD})
    return await user.then_account(entered, user.email)


async def register(user: Visitor) -> Seen:
    """A new address gets an account, and is signed in with it."""
    user.client.cookies.clear()
    email = _new_email(user.number)
    entered = await user.ask("POST", "/register", json={"email": email, "password": PASSWORD, "name": "Noor"})
    return await user.then_account(entered, email)


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


async def shipping(user: Visitor) -> Seen:
    """Delivery costs what the shop promises for the weight, and arrives when it promises."""

    async def start() -> None:
        user.cart = await user.fill(1 + secrets.randbelow(3))

    if user.turns(SESSION_VISITS) or user.cart is None:
        await user.anew(start, has_old=user.cart is not None)
    put = user.cart
    assert put is not None
    answer = await user.ask("GET", "/shipping", params={"country": "DE"})

    def wrong(page: Any) -> str:
        if not page["arrives"]:
            return "missing_data"
        right = (page["cost"], page["due"]) == (put.delivery, put.due) and page["arrives"] in arrivals(dt.datetime.now(dt.UTC))
        return "" if right else "wrong_data"

    return seen(answer, wrong)


async def payment(user: Visitor) -> Seen:
    """A good card is accepted."""
    answer = await user.ask("POST", "/payment", json={"card": CARD, "amount": 490 + secrets.randbelow(20_000)})
    return seen(answer, lambda page: "" if page.get("token") else "missing_data")


async def checkout(user: Visitor) -> Seen:
    """The order costs what the cart did, with its delivery."""
    user.client.cookies.clear()
    put = await user.fill(1)
    token = await user.pay(put.due)
    answer = await user.ask("POST", "/checkout", json={"token": token, "key": secrets.token_hex(8)})
    return seen(
        answer, lambda page: "" if page["total"] == put.due and page["order"] else "wrong_data", lambda _: _spoken(put.name)
    )


async def orders(user: Visitor) -> Seen:
    """An order that was placed with an account is in its list, at its price."""
    await user.join()
    known = user.order = user.order or await user.buy()
    answer = await user.ask("GET", "/orders")
    if user.signed_out(answer):
        return Seen(answer, "lost_state")

    def wrong(page: Any) -> str:
        totals = {order["order"]: order["total"] for order in page["orders"]}
        if known.number not in totals:
            user.order = None
            return "missing_data"
        return "" if totals[known.number] == known.total else "wrong_data"

    return seen(answer, wrong)


async def recommendations(user: Visitor) -> Seen:
    """Other products go with one that many have bought, each at the price on its tag."""
    number = next(user.products)

    def wrong(page: Any) -> str:
        if not page["products"]:
            return "missing_data"
        right = all(p["id"] != number and _tagged(p["price"], p["tag"]) for p in page["products"])
        return "" if right and page["product"] == number else "wrong_data"

    return seen(await user.ask("GET", f"/products/{number}/recommendations"), wrong)


async def confirmation(user: Visitor) -> Seen:
    """Soon after an order its confirmation is in the inbox, over the order's total."""
    await user.join()
    bought = await user.buy()

    async def look() -> Seen | None:
        answer = await user.client.get("/inbox")
        if user.signed_out(answer):
            return Seen(answer, "lost_state")
        if answer.status_code >= 400:
            return Seen(answer)
        page = answer.json()
        letters = [letter for letter in page["messages"] if letter["order"] == bought.number]
        if not letters:
            return None
        right = len(letters) == 1 and letters[0]["total"] == bought.total and str(bought.number) in letters[0]["subject"]
        return Seen(answer, "" if right and page["unread"] else "wrong_data")

    return await user.until(look)


FEATURES: dict[str, Callable[[Visitor], Awaitable[Seen]]] = {
    f.__name__: f
    for f in (
        home,
        product,
        search,
        login,
        register,
        cart_add,
        cart_view,
        shipping,
        payment,
        checkout,
        orders,
        recommendations,
        confirmation,
    )
}
