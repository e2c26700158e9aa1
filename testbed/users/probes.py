"""Probe users: one per feature, each knowing what is right, noting only what a person would see."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import secrets
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from testbed.users.notes import PATIENCE_SECONDS, Visit, append, outcome_of

CARD = "4242 4242 4242 4242"
Check = Callable[["Shopper"], Awaitable[tuple[httpx.Response, str]]]


class Shopper:
    """A person with a browser: one session, and a memory of what was done in it."""

    def __init__(self, url: str, number: int) -> None:
        self.client = httpx.AsyncClient(base_url=url, timeout=PATIENCE_SECONDS)
        self.products = itertools.cycle(range(1 + 37 * number, 4000, 97))
        self.last_order: int | None = None

    async def get(self, path: str, **params: str) -> httpx.Response:
        """GET as a browser does."""
        return await self.client.get(path, params=params)

    async def post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        """POST JSON."""
        return await self.client.post(path, json=body)


def _right(answer: httpx.Response, wrong: Callable[[Any], str]) -> str:
    """The outcome that the content of a good answer has; "" when it is right."""
    return wrong(answer.json()) if answer.status_code < 400 else ""


async def home(user: Shopper) -> tuple[httpx.Response, str]:
    """The front page has products."""
    answer = await user.get("/")
    return answer, _right(answer, lambda page: "" if page.get("products") else "missing_data")


async def product(user: Shopper) -> tuple[httpx.Response, str]:
    """The page shows the product that was asked for, at the price on its tag."""
    number = next(user.products)
    answer = await user.get(f"/products/{number}")

    def wrong(page: Any) -> str:
        cents = f"{page['price'] // 100}.{page['price'] % 100:02d}"
        return "" if page["id"] == number and page["tag"]["EUR"] == cents else "wrong_data"

    return answer, _right(answer, wrong)


async def search(user: Shopper) -> tuple[httpx.Response, str]:
    """A word that many products have finds some, and only such."""
    word = secrets.choice(("lamp", "shirt", "towel", "kettle", "wool"))
    answer = await user.get("/search", q=word)

    def wrong(page: Any) -> str:
        if not page["products"]:
            return "missing_data"
        return "" if all(word in p["name"].lower() or word == p["category"] for p in page["products"]) else "wrong_data"

    return answer, _right(answer, wrong)


async def cart_add(user: Shopper) -> tuple[httpx.Response, str]:
    """Adding two of a product into a fresh cart leaves two there."""
    user.client.cookies.clear()
    number = next(user.products)
    answer = await user.post("/cart", {"product": number, "quantity": 2})
    return answer, _right(answer, lambda page: "" if (page["product"], page["quantity"]) == (number, 2) else "wrong_data")


async def cart_view(user: Shopper) -> tuple[httpx.Response, str]:
    """The cart holds what was put in, and the total adds up. It is filled first where it is not known to be."""
    if "session" not in user.client.cookies:
        filled = await user.post("/cart", {"product": next(user.products), "quantity": 3})
        if filled.status_code >= 400:
            user.client.cookies.clear()
            return filled, "not_visited"
    answer = await user.get("/cart")

    def wrong(page: Any) -> str:
        if not page["lines"]:
            return "lost_state"
        return "" if page["total"] == sum(x["price"] * x["quantity"] for x in page["lines"]) else "wrong_data"

    return answer, _right(answer, wrong)


async def payment(user: Shopper) -> tuple[httpx.Response, str]:
    """A good card is accepted."""
    answer = await user.post("/payment", {"card": CARD, "amount": 2990})
    return answer, _right(answer, lambda page: "" if page.get("token") else "missing_data")


async def checkout(user: Shopper) -> tuple[httpx.Response, str]:
    """The order's total is that of the cart with its delivery. The steps before are the probes' own affair elsewhere."""
    user.client.cookies.clear()
    added = await user.post("/cart", {"product": next(user.products), "quantity": 1})
    if added.status_code >= 400:
        return added, "not_visited"
    price = added.json()["price"]
    due = price + (0 if price >= 10_000 else 490)
    paid = await user.post("/payment", {"card": CARD, "amount": due})
    if paid.status_code >= 400:
        return paid, "not_visited"
    return await _order(user, paid.json()["token"], due)


async def _order(user: Shopper, token: str, due: int) -> tuple[httpx.Response, str]:
    began = time.perf_counter()
    answer = await user.post("/checkout", {"token": token, "key": secrets.token_hex(8)})
    answer.extensions["seconds"] = time.perf_counter() - began
    return answer, _right(answer, lambda page: "" if page["total"] == due and page["order"] else "wrong_data")


async def orders(user: Shopper) -> tuple[httpx.Response, str]:
    """An order that was placed is in the list. One is placed first where none is known."""
    if user.last_order is None:
        placed, wrong_order = await checkout(user)
        if placed.status_code >= 400 or wrong_order:
            return placed, "not_visited"
        user.last_order = placed.json()["order"]
    answer = await user.get("/orders")
    known = user.last_order
    return answer, _right(answer, lambda page: "" if any(o["order"] == known for o in page["orders"]) else "missing_data")


FEATURES: dict[str, Check] = {f.__name__: f for f in (home, product, search, cart_add, cart_view, payment, checkout, orders)}


async def visit(feature: str, user: Shopper) -> Visit | None:
    """Visit once; None when a step before the feature failed, so that nothing can be said of the feature itself."""
    at, began = time.time(), time.perf_counter()
    try:
        answer, wrong = await FEATURES[feature](user)
    except httpx.TimeoutException:
        return Visit(at, feature, "timeout", time.perf_counter() - began)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        return Visit(at, feature, "error", time.perf_counter() - began, None, type(error).__name__)
    except (ValueError, KeyError, TypeError):
        return Visit(at, feature, "wrong_data", time.perf_counter() - began, 200, "the page made no sense")
    if wrong == "not_visited":
        return None
    seconds = float(answer.extensions.get("seconds", time.perf_counter() - began))
    outcome = outcome_of(seconds, answer.status_code)
    return Visit(at, feature, wrong if wrong and outcome in ("ok", "slow") else outcome, seconds, answer.status_code)


async def walk(feature: str, url: str, out: Path, every: float, number: int, stop: asyncio.Event) -> None:
    """Visit one feature again and again until told to stop."""
    user = Shopper(url, number)
    await asyncio.sleep(every * number / len(FEATURES))
    while not stop.is_set():
        began = time.monotonic()
        note = await visit(feature, user)
        if note is not None:
            append(out, note)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), max(0.2, every - (time.monotonic() - began)))
    await user.client.aclose()


async def probe(url: str, out: Path, every: float) -> None:
    """All features at once, so that a slow one delays no other."""
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    walks = [asyncio.create_task(walk(f, url, out, every, i, stop)) for i, f in enumerate(FEATURES)]
    await stop.wait()
    for task in walks:
        task.cancel()
    await asyncio.gather(*walks, return_exceptions=True)


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
