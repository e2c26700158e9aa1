"""The shop, driven like a customer through its public address only, many at once."""

from __future__ import annotations

import os
import secrets
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

pytestmark = pytest.mark.stack
URL = f"http://127.0.0.1:{os.environ.get('REVELIO_PORT_GATEWAY', '18080')}"
CARD = "4242 4242 4242 4242"


def customer() -> httpx.Client:
    return httpx.Client(base_url=URL, timeout=10.0)


def buy(client: httpx.Client, product: int, quantity: int, key: str | None = None) -> httpx.Response:
    price = client.post("/cart", json={"product": product, "quantity": quantity}).raise_for_status().json()["price"]
    goods = price * quantity
    due = goods + (0 if goods >= 10_000 else 490)
    token = client.post("/payment", json={"card": CARD, "amount": due}).raise_for_status().json()["token"]
    return client.post("/checkout", json={"token": token, "key": key or secrets.token_hex(8)})


def stock(product: int) -> int:
    with customer() as client:
        return int(client.get(f"/products/{product}").raise_for_status().json()["stock"])


def test_stock_goes_down_by_exactly_what_many_customers_bought_at_once() -> None:
    before = stock(3999)

    def one(quantity: int) -> int:
        with customer() as client:
            return quantity if buy(client, 3999, quantity).status_code == 200 else 0

    with ThreadPoolExecutor(4) as pool:
        bought = sum(pool.map(one, [1, 2, 3, 1, 2, 3, 1, 2]))
    assert bought == 15
    assert stock(3999) == before - bought


def test_an_order_costs_what_the_cart_said_and_is_found_again() -> None:
    with customer() as client:
        answer = buy(client, 17, 2).raise_for_status().json()
        order = next(o for o in client.get("/orders").json()["orders"] if o["order"] == answer["order"])
        assert order["total"] == answer["total"] == sum(x["price"] * x["quantity"] for x in order["lines"]) + order["shipping"]
        assert client.get("/cart").json()["lines"] == []


def test_the_same_checkout_sent_twice_is_one_order() -> None:
    with customer() as client:
        key = secrets.token_hex(8)
        first = buy(client, 21, 1, key).raise_for_status().json()
        again = client.post("/checkout", json={"token": "whatever", "key": key}).raise_for_status().json()
        assert again["order"] == first["order"]
        assert len(client.get("/orders").json()["orders"]) == 1


def test_a_payment_pays_once_and_an_order_that_fails_gives_its_stock_back() -> None:
    with customer() as client:
        client.post("/cart", json={"product": 3998, "quantity": 4}).raise_for_status()
        before = stock(3998)
        refused = client.post("/checkout", json={"token": "not-a-token", "key": secrets.token_hex(8)})
        assert refused.status_code == 402
        assert stock(3998) == before
        assert client.get("/cart").json()["lines"][0]["quantity"] == 4


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/products/999999", None, 404),
        ("POST", "/cart", {"product": 5, "quantity": 1000}, 400),
        ("POST", "/payment", {"card": "1234 5678 1234 5678", "amount": 100}, 402),
        ("POST", "/checkout", {}, 400),
    ],
)
def test_what_cannot_be_done_is_refused_and_not_an_error_of_the_shop(
    method: str, path: str, body: dict[str, object] | None, status: int
) -> None:
    with customer() as client:
        answer = client.request(method, path, json=body)
        assert answer.status_code == status
        assert answer.json()["error"]
