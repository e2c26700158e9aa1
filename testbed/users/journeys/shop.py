"""Visitors of the shop: most look around, some sign in, and one in ten buys."""

from __future__ import annotations

import random
import secrets

from locust import HttpUser, between, task

from testbed.users.visitors.shop import PRODUCTS
from testbed.users.walks.shop import OLD_ACCOUNTS, OLD_PASSWORD

CARD = "5555 5555 5555 4444"
WORDS = (
    "linen",
    "wool",
    "lamp",
    "shirt",
    "kettle",
    "towel",
    "glass jar",
    "oak shelf",
    "socks",
    "mirror",
    "wool scarf",
    "soft hat",
)
COUNTRIES = ("DE", "DE", "DE", "DE", "AT", "FR", "CH")


class Customer(HttpUser):
    """One customer at a time."""

    wait_time = between(1.2, 2.6)
    network_timeout = 10.0
    connection_timeout = 5.0

    @task(12)
    def browse(self) -> None:
        """Home, then a product or two; their pages come with what goes with them."""
        self.client.get("/")
        for _ in range(random.randint(1, 2)):
            self.client.get(f"/products/{random.randint(1, PRODUCTS)}", name="/products/{id}")

    @task(6)
    def search(self) -> None:
        """Search, now and then leaf, and open a hit."""
        word = random.choice(WORDS)
        found = self.client.get("/search", params={"q": word}, name="/search")
        page = found.json() if found.status_code < 400 else {"products": [], "next": None}
        if page["next"] and random.random() < 0.3:
            self.client.get("/search", params={"q": word, "after": page["next"]}, name="/search")
        if page["products"]:
            self.client.get(f"/products/{random.choice(page['products'])['id']}", name="/products/{id}")

    @task(3)
    def follow_the_strip(self) -> None:
        """From one product to what others bought with it."""
        strip = self.client.get(f"/products/{random.randint(1, PRODUCTS)}/recommendations", name="/products/{id}/recommendations")
        if strip.status_code < 400 and strip.json()["products"]:
            self.client.get(f"/products/{random.choice(strip.json()['products'])['id']}", name="/products/{id}")

    @task(5)
    def fill(self) -> None:
        """Put something in, look at the cart, ask what delivery costs."""
        self.client.post("/cart", json={"product": random.randint(1, PRODUCTS), "quantity": random.randint(1, 3)})
        self.client.get("/cart")
        if random.random() < 0.5:
            self.client.get("/shipping", params={"country": random.choice(COUNTRIES)}, name="/shipping")

    @task(2)
    def sign_in(self) -> None:
        """As a customer of old: orders, messages, perhaps the payments, and out again."""
        email = f"customer{random.randint(1, OLD_ACCOUNTS)}@example.org"
        if self.client.post("/login", json={"email": email, "password": OLD_PASSWORD}).status_code >= 400:
            return
        self.client.get("/account")
        orders = self.client.get("/orders")
        if orders.status_code < 400 and orders.json()["next"]:
            self.client.get("/orders", params={"after": orders.json()["next"]}, name="/orders")
        self.client.get(random.choice(("/inbox", "/inbox", "/payments")))
        if random.random() < 0.5:
            self._buy()
        self.client.post("/logout", json={})

    @task(2)
    def buy_as_a_guest(self) -> None:
        """A new browser, an order without an account."""
        self.client.cookies.clear()
        self._buy()

    def _buy(self) -> None:
        """Cart, delivery, payment, checkout, then the confirmation."""
        for _ in range(random.randint(1, 3)):
            added = self.client.post("/cart", json={"product": random.randint(1, PRODUCTS), "quantity": random.randint(1, 2)})
            if added.status_code >= 400:
                return
        country = random.choice(COUNTRIES)
        quote = self.client.get("/shipping", params={"country": country}, name="/shipping")
        if quote.status_code >= 400:
            return
        paid = self.client.post("/payment", json={"card": CARD, "amount": quote.json()["due"]})
        if paid.status_code < 400:
            order = {"token": paid.json()["token"], "key": secrets.token_hex(8), "country": country}
            self.client.post("/checkout", json=order)
            self.client.get(random.choice(("/orders", "/inbox")))


USERS = [Customer]
