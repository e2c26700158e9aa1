"""Visitors of the shop: look around for some seconds, search, fill a cart, and one in ten buys."""

from __future__ import annotations

import random
import secrets

from locust import HttpUser, between, task

CARD = "5555 5555 5555 4444"
PRODUCTS = 3900
"""The shop has more, but those sell out."""
WORDS = ("linen", "wool", "lamp", "shirt", "kettle", "towel", "blue jar", "oak shelf", "socks", "mirror")


class Customer(HttpUser):
    """One customer at a time."""

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


USERS = [Customer]
