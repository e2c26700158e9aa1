"""Any one part of the shop is restarted while people buy: soon after, orders, stock, money and messages agree again."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import docker
import httpx
import pytest

from testbed.stack.engine import SERVICE_LABEL, containers
from testbed.stack.parts import parts_of
from testbed.stack.project import find_project
from tests.testbed.shop_customer import PLACING, Customer, customer

APP = "shop"
DISTURBS = True
pytestmark = pytest.mark.stack

BUYERS = 8
RESTARTS = 2
LIMITED = range(11_901, 12_001)
BEFORE_S, AFTER_ORDERS, AGREED_WITHIN_S = 2.5, 6, 40.0


@dataclass
class Buyer:
    """Who buys one piece after the other, and remembers what the shop said yes to (order to total) and what it left open."""

    person: Customer
    acknowledged: dict[int, int] = field(default_factory=dict)
    left_open: dict[str, str] = field(default_factory=dict)
    """Key to token of orders to which the shop said neither yes nor no."""

    async def keep_buying(self, product: int, until: asyncio.Event) -> None:
        """Orders until told to stop; what fails is tried anew from the cart on."""
        while not until.is_set():
            try:
                # The last order may have left the cart full; more than one piece at a time would be another test.
                for line in (await self.person.get("/cart"))["lines"]:
                    await self.person.client.delete(f"/cart/{line['product']}")
                await self.person.put_in(product)
                key, token = secrets.token_hex(8), await self.person.pay((await self.person.quote())["due"])
                self.left_open[key] = token
                await self.ask(key)
            except (AssertionError, httpx.HTTPError):
                pass
            await asyncio.sleep(0.2)

    async def ask(self, key: str) -> None:
        """Send an order, perhaps once more; a yes or a no closes it."""
        answer = await self.person.client.post("/checkout", json={"token": self.left_open[key], "key": key})
        if answer.status_code == 200:
            self.acknowledged[answer.json()["order"]] = answer.json()["total"]
        if answer.status_code < 500 and PLACING not in answer.text:
            del self.left_open[key]

    async def disagreements(self) -> list[str]:
        """What is not as it should be in the customer's own pages."""
        try:
            for key in [*self.left_open]:
                await self.ask(key)
            orders = {o["order"]: o for o in await self.person.all_of("/orders", "orders")}
            messages = await self.person.all_of("/inbox", "messages")
            books = await self.person.get("/payments")
        except (AssertionError, httpx.HTTPError) as error:
            return [f"a page is not there: {error!r}"]
        found = ["an order is neither placed nor refused" for _ in self.left_open]
        found += [f"order {n} is lost" for n in self.acknowledged if n not in orders]
        found += [
            f"order {n} costs another sum" for n, sum_ in self.acknowledged.items() if n in orders and orders[n]["total"] != sum_
        ]
        told = Counter(m["order"] for m in messages)
        found += [f"order {n} has {told[n]} confirmations" for n in orders if told[n] != 1]
        found += [f"message of no order: {n}" for n in told if n not in orders]
        if books["captured"] - books["refunded"] != sum(o["total"] for o in orders.values()):
            found.append(f"captured {books['captured']} - {books['refunded']} is not what the orders cost")
        return found

    async def pieces(self, product: int) -> int:
        """How many of a product this customer's orders have."""
        orders = await self.person.all_of("/orders", "orders")
        return sum(line["quantity"] for o in orders for line in o["lines"] if line["product"] == product)


def restart(service: str) -> None:
    """At once: it has no time to finish what it is at."""
    client = docker.from_env()
    try:
        found = containers(client, find_project("shop").name)
        next(c for c in found if c.labels[SERVICE_LABEL] == service).restart(timeout=0)
    finally:
        client.close()


async def limited(someone: Customer) -> dict[str, Any]:
    for number in LIMITED:
        page: dict[str, Any] = await someone.get(f"/products/{number}")
        if page["stock"] >= 20:
            return page
    pytest.skip("the limited editions are sold out; bring the stack down and up again")


async def shop_through(service: str) -> None:
    async with AsyncExitStack() as browsers:
        buyers = [Buyer(await browsers.enter_async_context(customer())) for _ in range(BUYERS)]
        someone = buyers[0].person
        product = await limited(someone)
        for buyer in buyers[: BUYERS // 2]:
            await buyer.person.join()
        enough = asyncio.Event()
        # Half of them want what is scarce, and may well be told that it is sold out.
        wanted = [product["id"] if number % 2 else 500 + number for number in range(BUYERS)]
        shopping = [asyncio.create_task(b.keep_buying(w, enough)) for b, w in zip(buyers, wanted, strict=True)]
        for _ in range(RESTARTS):
            await asyncio.sleep(BEFORE_S)
            await asyncio.to_thread(restart, service)
        before, deadline = _placed(buyers), time.monotonic() + AGREED_WITHIN_S
        while _placed(buyers) < before + AFTER_ORDERS:
            assert time.monotonic() < deadline, f"after the restart only {_placed(buyers) - before} orders were placed"
            await asyncio.sleep(0.2)
        enough.set()
        await asyncio.gather(*shopping)
        await agree(buyers, product, within=AGREED_WITHIN_S)


def _placed(buyers: list[Buyer]) -> int:
    return sum(len(b.acknowledged) for b in buyers)


async def agree(buyers: list[Buyer], product: dict[str, Any], within: float) -> None:
    """All of it agrees within so many seconds."""
    deadline = time.monotonic() + within
    while True:
        found = [fault for buyer in buyers for fault in await buyer.disagreements()]
        if not found:
            left = await buyers[0].person.get(f"/products/{product['id']}")
            sold = sum([await buyer.pieces(product["id"]) for buyer in buyers])
            assert left["stock"] + left["sold"] == product["stock"] + product["sold"]
            if left["stock"] == product["stock"] - sold:
                return
            found = [f"{product['stock'] - left['stock']} pieces are gone from stock, {sold} were ordered"]
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.5)


@pytest.mark.parametrize(
    "part",
    [
        part if part in ("orders", "payment", "notifier", "postgres") else pytest.param(part, marks=pytest.mark.thorough)
        for part in (*parts_of(APP).services, *parts_of(APP).stores)
    ],
)
def test_after_a_restart_during_traffic_orders_stock_money_and_messages_agree(part: str) -> None:
    asyncio.run(shop_through(part))
