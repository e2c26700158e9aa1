"""Probe users against a shop that misbehaves: each thing gets the name that a person would give it."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from testbed.users import person
from testbed.users.notes import Visit
from testbed.users.probes import visit
from testbed.users.visitors.shop import Visitor
from testbed.users.walks.shop import FEATURES, arrivals

Change = Callable[[Any], None]
PRICE, WEIGHT = 2_000, 800
NEEDS_ACCOUNT = ("GET /account",)
TAG = {"EUR": "20.00"}
STEP = {
    "home": "GET /",
    "product": "GET /products/0",
    "search": "GET /search",
    "login": "POST /login",
    "register": "POST /register",
    "cart_add": "POST /cart",
    "cart_view": "GET /cart",
    "shipping": "GET /shipping",
    "payment": "POST /payment",
    "checkout": "POST /checkout",
    "orders": "GET /orders",
    "recommendations": "GET /products/0/recommendations",
    "confirmation": "GET /inbox",
}


class Shop:
    """A small shop in memory. ``broken`` gives steps another status, ``twisted`` changes their pages on the way out."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("")
        self.broken: dict[str, int] = {}
        self.twisted: dict[str, Change] = {}
        self.numbers = itertools.count(1)
        self.emails: dict[str, str] = {}
        self.cart: list[dict[str, Any]] = []
        self.orders: list[dict[str, Any]] = []
        self.registered = 0
        server.expect_request(re.compile("/.*")).respond_with_handler(self._answer)

    def lose_cart(self) -> None:
        """As after a loss of the store."""
        self.cart = []

    def _answer(self, request: Request) -> Response:
        step = f"{request.method} {re.sub('[0-9]+', '0', request.path)}"
        if step in self.broken:
            return Response(json.dumps({"error": "something went wrong"}), self.broken[step])
        token = request.cookies.get("account", "")
        if (token or step in NEEDS_ACCOUNT) and token not in self.emails and step not in ("POST /login", "POST /register"):
            return Response(json.dumps({"error": "you are not signed in any more"}), 401)
        page = self._page(step, request, self.emails.get(token, ""))
        self.twisted.get(step, lambda _: None)(page)
        response = Response(json.dumps(page), 200)
        response.set_cookie("session", "s")
        if step in ("POST /login", "POST /register"):
            token = f"t{next(self.numbers)}"
            self.emails[token] = request.get_json(force=True)["email"]
            response.set_cookie("account", token)
        return response

    def _page(self, step: str, request: Request, email: str) -> dict[str, Any]:
        body = request.get_json(force=True) if request.method == "POST" else {}
        number = int(found.group()) if (found := re.search("[0-9]+", request.path)) else 0
        amount = sum(x["price"] * x["quantity"] for x in self.cart)
        match step:
            case "GET /" | "GET /search":
                word = request.args.get("q", "lamp")
                return {"products": [{"name": f"Oak {word} no. 5", "category": "living"}]}
            case "GET /products/0":
                return {"id": number, "name": "Oak lamp no. 5", "price": PRICE, "tag": TAG}
            case "GET /products/0/recommendations":
                return {"product": number, "products": [{"id": number + 1, "price": PRICE, "tag": TAG}]}
            case "POST /register":
                self.registered += 1
            case "GET /account":
                return {"email": email}
            case "POST /cart":
                self.cart = [{"product": body["product"], "price": PRICE, "quantity": body["quantity"]}]
                return {**self.cart[0], "name": "Oak lamp no. 5", "weight": WEIGHT}
            case "GET /cart":
                return {"lines": self.cart, "total": amount}
            case "GET /shipping":
                cost = 490 if WEIGHT * self.cart[0]["quantity"] <= 2_000 else 690
                return {"cost": cost, "due": amount + cost, "arrives": sorted(arrivals(dt.datetime.now(dt.UTC)))[0]}
            case "POST /payment":
                return {"token": "t"}
            case "POST /checkout":
                self.orders.append({"order": len(self.orders) + 1, "total": amount + 490})
                return dict(self.orders[-1])
            case "GET /orders":
                return {"orders": [dict(o) for o in self.orders]}
            case "GET /inbox":
                letters = [{**o, "subject": f"Your order {o['order']}"} for o in self.orders]
                return {"messages": letters, "unread": len(letters)}
        return {}


@pytest.fixture
def shop(httpserver: HTTPServer) -> Shop:
    return Shop(httpserver)


def visits(shop: Shop, feature: str, *between: Callable[[], None]) -> list[Visit | None]:
    """One visit, and one more after each of the things that happen in between."""

    async def walk() -> list[Visit | None]:
        user = Visitor(shop.url)
        seen = [await visit(feature, FEATURES[feature], user)]
        for happen in between:
            happen()
            seen.append(await visit(feature, FEATURES[feature], user))
        await user.client.aclose()
        return seen

    return asyncio.run(walk())


def outcomes(shop: Shop, feature: str, *between: Callable[[], None]) -> list[str]:
    return [v.outcome if v else "nothing" for v in visits(shop, feature, *between)]


@pytest.mark.parametrize("feature", FEATURES)
def test_a_shop_in_order_is_ok_again_and_again(shop: Shop, feature: str) -> None:
    assert outcomes(shop, feature, *[lambda: None] * 5) == ["ok"] * 6


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize(("status", "outcome"), [(502, "error"), (504, "timeout"), (429, "error")])
def test_an_error_page_is_an_error_and_a_gateways_time_out_a_time_out(
    shop: Shop, feature: str, status: int, outcome: str
) -> None:
    shop.broken[STEP[feature]] = status
    (seen,) = visits(shop, feature)
    assert seen is not None
    assert (seen.feature, seen.outcome, seen.status) == (feature, outcome, status)


def empty(name: str) -> Change:
    return lambda page: page.update({name: []})


def off(name: str) -> Change:
    return lambda page: page.update({name: page[name] + 1})


@pytest.mark.parametrize(
    ("feature", "twist", "outcome"),
    [
        ("home", empty("products"), "missing_data"),
        ("product", off("price"), "wrong_data"),
        ("product", off("id"), "wrong_data"),
        ("search", empty("products"), "missing_data"),
        ("search", lambda page: page["products"][0].update(name="Steel pan"), "wrong_data"),
        ("cart_add", off("quantity"), "wrong_data"),
        ("cart_view", off("total"), "wrong_data"),
        ("cart_view", empty("lines"), "lost_state"),
        ("shipping", off("cost"), "wrong_data"),
        ("shipping", lambda page: page.update(arrives="2020-01-01"), "wrong_data"),
        ("shipping", lambda page: page.update(arrives=""), "missing_data"),
        ("payment", lambda page: page.update(token=""), "missing_data"),
        ("checkout", off("total"), "wrong_data"),
        ("orders", empty("orders"), "missing_data"),
        ("orders", lambda page: page["orders"][0].update(total=1), "wrong_data"),
        ("recommendations", empty("products"), "missing_data"),
        ("recommendations", lambda page: page["products"][0].update(price=1), "wrong_data"),
        ("recommendations", lambda page: page["products"][0].update(id=page["product"]), "wrong_data"),
        ("confirmation", lambda page: page["messages"][0].update(total=1), "wrong_data"),
        ("confirmation", lambda page: page["messages"].append(page["messages"][0]), "wrong_data"),
        ("confirmation", lambda page: page.update(unread=0), "wrong_data"),
    ],
)
def test_what_is_not_as_it_was_left_is_wrong_missing_or_lost(shop: Shop, feature: str, twist: Change, outcome: str) -> None:
    shop.twisted[STEP[feature]] = twist
    assert outcomes(shop, feature) == [outcome]


@pytest.mark.parametrize("feature", ["login", "register"])
def test_who_signs_in_and_is_not_known_then_is_lost(shop: Shop, feature: str) -> None:
    shop.broken["GET /account"] = 401
    assert outcomes(shop, feature) == ["lost_state"]
    del shop.broken["GET /account"]
    shop.twisted["GET /account"] = lambda page: page.update(email="somebody@example.org")
    assert outcomes(shop, feature) == ["lost_state"]


def test_a_sign_in_that_is_forgotten_is_lost_state_and_the_next_visit_begins_anew(shop: Shop) -> None:
    assert outcomes(shop, "orders", shop.emails.clear, lambda: None) == ["ok", "lost_state", "ok"]


def test_a_cart_that_empties_is_lost_state_until_it_is_filled_anew(shop: Shop) -> None:
    assert outcomes(shop, "cart_view", shop.lose_cart, lambda: None) == ["ok", "lost_state", "ok"]


@pytest.mark.parametrize(
    ("feature", "step"),
    [("checkout", "POST /payment"), ("confirmation", "POST /checkout"), ("orders", "POST /cart"), ("login", "POST /register")],
)
def test_nothing_is_noted_of_a_feature_that_could_not_be_reached(shop: Shop, feature: str, step: str) -> None:
    shop.broken[step] = 502
    assert outcomes(shop, feature) == ["nothing"]


def test_who_cannot_register_anew_goes_on_with_the_old_account(shop: Shop) -> None:
    seen = outcomes(shop, "login", lambda: shop.broken.update({"POST /register": 502}), *[lambda: None] * 6)
    assert seen == ["ok"] * 8


def test_after_some_visits_somebody_else_signs_in(shop: Shop) -> None:
    outcomes(shop, "login", *[lambda: None] * 7)
    assert shop.registered == 3


def test_a_message_that_comes_later_is_waited_for_and_one_that_never_comes_is_a_time_out(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = itertools.count()
    shop.twisted["GET /inbox"] = lambda page: page.update(messages=page["messages"] if next(looks) > 1 else [])
    (late,) = visits(shop, "confirmation")
    assert late is not None
    assert late.outcome == "ok" and late.seconds >= 1.0
    monkeypatch.setattr(person, "PATIENCE_SECONDS", 0.8)
    shop.twisted["GET /inbox"] = empty("messages")
    assert outcomes(shop, "confirmation") == ["timeout"]


def test_the_article_is_remembered_as_people_call_it(shop: Shop) -> None:
    for feature in ("product", "cart_add", "cart_view", "checkout"):
        (seen,) = visits(shop, feature)
        assert seen is not None
        assert seen.detail == "oak lamp"
