"""A customer's ways through the shop, one function a feature."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from testbed.users.person import Seen, seen
from testbed.users.visitors.shop import CARD, PASSWORD, SESSION_VISITS, Visitor, new_email

OLD_ACCOUNTS, OLD_PASSWORD = 20_000, "correct horse"
"""Customers of old, ``customerN@example.org``, and the password of each."""
SEARCHED = ("lamp", "shirt", "towel", "kettle", "wool", "scarf", "mirror", "cork")
"""Words that many products have in their names."""
CUT_OFF, DAYS = 14, 2
"""Ordered until this hour (UTC) it leaves the same day, and is so many working days on its way."""


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
    email = new_email(user.number)
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
