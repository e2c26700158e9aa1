"""Probe users against a shop that misbehaves: each thing gets the name that a person would give it."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from testbed.users import person
from testbed.users.notes import Visit, read
from testbed.users.probes import visit
from testbed.users.walks.shop import FEATURES, SESSION_VISITS, Visitor

PRICE = 2_000


class Shop:
    """A shop of one article with switches for what can be wrong with it."""

    def __init__(self, server: HTTPServer) -> None:
        self.cart: list[dict[str, Any]] = []
        self.orders: list[dict[str, Any]] = []
        self.total_off_by = 0
        self.broken: dict[str, int] = {}
        self.seconds = 0.0
        self.fills = 0
        self.url = server.url_for("")
        for path in ("/", "/cart", "/payment", "/checkout", "/orders", "/search"):
            server.expect_request(path).respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        time.sleep(self.seconds)
        step = f"{request.method} {request.path}"
        if step in self.broken:
            return Response(json.dumps({"error": "something went wrong"}), self.broken[step])
        return Response(json.dumps(self._page(step, request)), 200)

    def _page(self, step: str, request: Request) -> dict[str, Any]:
        body = request.get_json(force=True) if request.method == "POST" else {}
        match step:
            case "POST /cart":
                self.fills += 1
                self.cart = [{"product": body["product"], "price": PRICE, "quantity": body["quantity"]}]
                return {"product": body["product"], "quantity": body["quantity"], "name": "Oak lamp no. 5", "price": PRICE}
            case "GET /cart":
                total = sum(x["price"] * x["quantity"] for x in self.cart)
                return {"lines": self.cart, "total": total + self.total_off_by}
            case "POST /payment":
                return {"token": "t"}
            case "POST /checkout":
                self.orders.append({"order": len(self.orders) + 1, "total": PRICE + 490 + self.total_off_by})
                return self.orders[-1]
            case "GET /orders":
                return {"orders": self.orders}
            case "GET /search":
                return {"products": [{"name": "Steel pan", "category": "kitchen"}]}
        return {"products": []}


@pytest.fixture
def shop(httpserver: HTTPServer) -> Shop:
    return Shop(httpserver)


def visits(shop: Shop, feature: str, times: int = 1) -> list[Visit | None]:
    async def walk() -> list[Visit | None]:
        user = Visitor(shop.url)
        seen = [await visit(feature, FEATURES[feature], user) for _ in range(times)]
        await user.client.aclose()
        return seen

    return asyncio.run(walk())


def outcome(shop: Shop, feature: str) -> str:
    (seen,) = visits(shop, feature)
    assert seen is not None
    assert seen.feature == feature
    return seen.outcome


@pytest.mark.parametrize("feature", ["cart_add", "cart_view", "payment", "checkout", "orders"])
def test_a_shop_in_order_is_ok(shop: Shop, feature: str) -> None:
    assert outcome(shop, feature) == "ok"


def test_an_empty_front_page_misses_something_and_a_foreign_hit_is_wrong(shop: Shop) -> None:
    assert outcome(shop, "home") == "missing_data"
    assert outcome(shop, "search") == "wrong_data"


@pytest.mark.parametrize("feature", ["cart_view", "checkout"])
def test_a_total_that_does_not_add_up_is_wrong(shop: Shop, feature: str) -> None:
    shop.total_off_by = 1
    assert outcome(shop, feature) == "wrong_data"


@pytest.mark.parametrize(("status", "expected"), [(504, "timeout"), (502, "error"), (500, "error"), (404, "error")])
def test_an_error_page_is_an_error_and_a_gateways_time_out_a_time_out(shop: Shop, status: int, expected: str) -> None:
    shop.broken["GET /orders"] = status
    (seen,) = visits(shop, "orders")
    assert seen is not None
    assert (seen.outcome, seen.status) == (expected, status)


def test_a_cart_that_empties_is_lost_state_until_it_is_filled_anew(shop: Shop) -> None:
    async def walk() -> list[str]:
        user = Visitor(shop.url)
        first = await visit("cart_view", FEATURES["cart_view"], user)
        shop.cart = []
        second = await visit("cart_view", FEATURES["cart_view"], user)
        third = await visit("cart_view", FEATURES["cart_view"], user)
        await user.client.aclose()
        return [v.outcome for v in (first, second, third) if v is not None]

    assert asyncio.run(walk()) == ["ok", "lost_state", "ok"]


def test_an_order_that_is_not_listed_is_missing_data(shop: Shop) -> None:
    async def walk() -> list[str]:
        user = Visitor(shop.url)
        first = await visit("orders", FEATURES["orders"], user)
        shop.orders = []
        second = await visit("orders", FEATURES["orders"], user)
        await user.client.aclose()
        return [v.outcome for v in (first, second) if v is not None]

    assert asyncio.run(walk()) == ["ok", "missing_data"]


def test_nothing_is_noted_of_a_feature_that_could_not_be_reached(shop: Shop) -> None:
    shop.broken["POST /payment"] = 500
    assert visits(shop, "checkout") == [None]
    assert outcome(shop, "payment") == "error"


def test_who_cannot_order_anew_still_looks_at_the_order_placed_before(shop: Shop) -> None:
    async def walk() -> list[Visit | None]:
        user = Visitor(shop.url)
        seen = [await visit("orders", FEATURES["orders"], user)]
        shop.broken["POST /checkout"] = 502
        seen += [await visit("orders", FEATURES["orders"], user) for _ in range(2 * SESSION_VISITS)]
        await user.client.aclose()
        return seen

    assert [v.outcome for v in asyncio.run(walk()) if v is not None] == ["ok"] * (2 * SESSION_VISITS + 1)


def test_after_some_visits_somebody_else_looks_at_a_cart(shop: Shop) -> None:
    visits(shop, "cart_view", 2 * SESSION_VISITS)
    assert shop.fills == 3


def test_only_the_feature_itself_is_timed(shop: Shop) -> None:
    shop.seconds = 0.2
    (seen,) = visits(shop, "checkout")
    assert seen is not None
    assert 0.2 <= seen.seconds < 0.4


def test_patience_ends(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person, "PATIENCE_SECONDS", 0.2)
    shop.seconds = 0.6
    (seen,) = visits(shop, "home")
    assert seen is not None
    assert (seen.outcome, seen.status) == ("timeout", None)
    assert seen.seconds < 0.5


def test_a_refused_connection_is_an_error_of_the_site(shop: Shop) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        shop.url = f"http://127.0.0.1:{free.getsockname()[1]}"
    (seen,) = visits(shop, "home")
    assert seen is not None
    assert (seen.outcome, seen.status, seen.detail) == ("error", None, "ConnectError")


def test_the_article_is_remembered_as_people_call_it(shop: Shop) -> None:
    (seen,) = visits(shop, "cart_add")
    assert seen is not None
    assert seen.detail == "oak lamp"


def test_probes_end_promptly_when_told_to_and_leave_whole_notes(shop: Shop, tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    expected = {"home", "search", "cart_add", "cart_view", "payment", "checkout", "orders"}
    command = [sys.executable, "-m", "testbed.users.probes", "--url", shop.url, "--out", str(notes), "--every", "0.5"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as probes:
        deadline = time.monotonic() + 60
        while not expected <= {v.feature for v in read(notes)} and time.monotonic() < deadline:
            time.sleep(0.1)
        probes.send_signal(signal.SIGTERM)
        _, said = probes.communicate(timeout=10)
    assert (probes.returncode, said) == (0, "")
    assert expected <= {v.feature for v in read(notes)}
