"""A steady load of ordinary visitors, by Locust: browse, search, fill a cart, now and then buy."""

from __future__ import annotations

import gevent.monkey

gevent.monkey.patch_all()

import argparse  # noqa: E402  gevent must come before everything that opens sockets
import random  # noqa: E402
import secrets  # noqa: E402
import signal  # noqa: E402

import gevent  # noqa: E402
from locust import HttpUser, between, task  # noqa: E402
from locust.env import Environment  # noqa: E402

CARD = "5555 5555 5555 4444"
PRODUCTS = 3900
"""The shop has more, but those sell out."""
WORDS = ("linen", "wool", "lamp", "shirt", "kettle", "towel", "blue jar", "oak shelf", "socks", "mirror")


class Visitor(HttpUser):
    """One visitor at a time: looks around for some seconds, and one in ten buys."""

    wait_time = between(1.2, 2.6)
    network_timeout = 10.0
    connection_timeout = 5.0

    @task(6)
    def browse(self) -> None:
        """Home, then a product or two."""
        self.client.get("/")
        for _ in range(random.randint(1, 2)):
            self.client.get(f"/products/{random.randint(1, PRODUCTS)}", name="/products/{id}")

    @task(3)
    def search(self) -> None:
        """Search and open a hit."""
        self.client.get("/search", params={"q": random.choice(WORDS)}, name="/search")

    @task(3)
    def fill(self) -> None:
        """Put something in and look at the cart."""
        self.client.post("/cart", json={"product": random.randint(1, PRODUCTS), "quantity": random.randint(1, 3)})
        self.client.get("/cart")

    @task(1)
    def look_back(self) -> None:
        """My orders."""
        self.client.get("/orders")

    @task(1)
    def buy(self) -> None:
        """Cart, payment, checkout, orders."""
        self.client.cookies.clear()
        for _ in range(random.randint(1, 3)):
            added = self.client.post("/cart", json={"product": random.randint(1, PRODUCTS), "quantity": random.randint(1, 2)})
            if added.status_code >= 400:
                return
        cart = self.client.get("/cart")
        if cart.status_code >= 400:
            return
        goods = cart.json()["total"]
        due = goods + (0 if goods >= 10_000 else 490)
        paid = self.client.post("/payment", json={"card": CARD, "amount": due})
        if paid.status_code < 400:
            self.client.post("/checkout", json={"token": paid.json()["token"], "key": secrets.token_hex(8)})
            self.client.get("/orders")


def main() -> None:
    """``python -m testbed.users.load --url http://127.0.0.1:18080 --users 8``."""
    parser = argparse.ArgumentParser(description="Ordinary visitors at a steady rate.")
    parser.add_argument("--app", default="shop", choices=["shop"])
    parser.add_argument("--url", required=True)
    parser.add_argument("--users", type=int, default=8)
    arguments = parser.parse_args()
    environment = Environment(user_classes=[Visitor], host=arguments.url)
    runner = environment.create_local_runner()
    gevent.signal_handler(signal.SIGTERM, runner.quit)
    gevent.signal_handler(signal.SIGINT, runner.quit)
    runner.start(arguments.users, spawn_rate=4)
    runner.greenlet.join()


if __name__ == "__main__":
    main()
