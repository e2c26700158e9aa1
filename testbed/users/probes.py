"""Probe users: one per feature, each knowing what is right, noting only what a person would see."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import secrets
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from testbed.users.notes import Visit, append, outcome_of
from testbed.users.shopper import CARD, NotReachedError, Shopper

SESSION_VISITS = 4
"""Visits to cart or orders by one person, before the next has a look."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer and, where it was a good one, what is wrong with its content ("" when nothing is)."""

    answer: httpx.Response
    wrong: str = ""
    item: str = ""


def _seen(answer: httpx.Response, wrong: Callable[[Any], str], item: Callable[[Any], str] = lambda _: "") -> Seen:
    if answer.status_code >= 400:
        return Seen(answer)
    page = answer.json()
    return Seen(answer, wrong(page), item(page))


def _spoken(name: str) -> str:
    """How a person calls an article: without its number."""
    return name.partition(" no. ")[0].lower()


async def home(user: Shopper) -> Seen:
    """The front page has products."""
    return _seen(await user.ask("GET", "/"), lambda page: "" if page["products"] else "missing_data")


async def product(user: Shopper) -> Seen:
    """The page shows the product that was asked for, at the price on its tag."""
    number = next(user.products)

    def wrong(page: Any) -> str:
        cents = f"{page['price'] // 100}.{page['price'] % 100:02d}"
        return "" if page["id"] == number and page["tag"]["EUR"] == cents else "wrong_data"

    return _seen(await user.ask("GET", f"/products/{number}"), wrong, lambda page: _spoken(page["name"]))


async def search(user: Shopper) -> Seen:
    """A word that many products have finds some, and only such."""
    word = secrets.choice(("lamp", "shirt", "towel", "kettle", "wool"))

    def wrong(page: Any) -> str:
        if not page["products"]:
            return "missing_data"
        return "" if all(word in p["name"].lower() or word == p["category"] for p in page["products"]) else "wrong_data"

    return _seen(await user.ask("GET", "/search", params={"q": word}), wrong)


async def cart_add(user: Shopper) -> Seen:
    """Adding two of a product into a fresh cart leaves two there."""
    user.client.cookies.clear()
    number = next(user.products)
    answer = await user.ask("POST", "/cart", json={"product": number, "quantity": 2})

    def wrong(page: Any) -> str:
        return "" if (page["product"], page["quantity"]) == (number, 2) else "wrong_data"

    return _seen(answer, wrong, lambda page: _spoken(page["name"]))


async def cart_view(user: Shopper) -> Seen:
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

    return _seen(answer, wrong, lambda _: _spoken(put.name))


async def payment(user: Shopper) -> Seen:
    """A good card is accepted."""
    answer = await user.ask("POST", "/payment", json={"card": CARD, "amount": 490 + secrets.randbelow(20_000)})
    return _seen(answer, lambda page: "" if page.get("token") else "missing_data")


async def checkout(user: Shopper) -> Seen:
    """The order costs what the cart did, with its delivery."""
    put = await user.fill(1)
    token = await user.pay(put.due)
    answer = await user.ask("POST", "/checkout", json={"token": token, "key": secrets.token_hex(8)})
    return _seen(
        answer, lambda page: "" if page["total"] == put.due and page["order"] else "wrong_data", lambda _: _spoken(put.name)
    )


async def orders(user: Shopper) -> Seen:
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

    return _seen(answer, wrong)


FEATURES: dict[str, Callable[[Shopper], Awaitable[Seen]]] = {
    f.__name__: f for f in (home, product, search, cart_add, cart_view, payment, checkout, orders)
}


async def visit(feature: str, user: Shopper) -> Visit | None:
    """Visit once; None when a step before the feature failed, so that nothing can be said of the feature itself.

    An article that the visit was about is its ``detail``; of a visit with no proper answer, what there was instead.
    """
    try:
        seen = await FEATURES[feature](user)
    except NotReachedError:
        return None
    except TimeoutError:
        return Visit(user.at, feature, "timeout", user.seconds)
    except httpx.TransportError as error:
        return Visit(user.at, feature, "error", user.seconds, None, type(error).__name__)
    except (ValueError, KeyError, TypeError):
        return Visit(user.at, feature, "wrong_data", user.seconds, 200)
    status = seen.answer.status_code
    return Visit(user.at, feature, seen.wrong or outcome_of(user.seconds, status), user.seconds, status, seen.item)


async def walk(feature: str, url: str, out: Path, every: float, number: int) -> None:
    """Visit one feature again and again."""
    user = Shopper(url, number)
    loop = asyncio.get_running_loop()
    await asyncio.sleep(every * number / len(FEATURES))
    while True:
        began = loop.time()
        note = await visit(feature, user)
        if note is not None:
            append(out, note)
        await asyncio.sleep(max(0.2, every - (loop.time() - began)))


async def probe(url: str, out: Path, every: float) -> None:
    """All features at once, so that a slow one delays no other, until told to stop."""
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    walks = [asyncio.create_task(walk(f, url, out, every, i)) for i, f in enumerate(FEATURES)]
    stopped = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait([stopped, *walks], return_when=asyncio.FIRST_COMPLETED)
    for task in (stopped, *walks):
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    # A walk ends by itself only when something is wrong with the probes, and then nobody must take their silence for health.
    assert stopped in done


def main() -> None:
    """``python -m testbed.users.probes --url http://127.0.0.1:18080 --out FILE``."""
    parser = argparse.ArgumentParser(description="Walk every feature and note what a user sees.")
    parser.add_argument("--app", default="shop", choices=["shop"])
    parser.add_argument("--url", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--every", type=float, default=2.5, help="seconds between two visits to the same feature")
    arguments = parser.parse_args()
    asyncio.run(probe(arguments.url, arguments.out, arguments.every))


if __name__ == "__main__":
    main()
