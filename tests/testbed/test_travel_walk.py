"""Probe users against a railway that misbehaves: each thing gets the name that a person would give it."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from testbed.users import person
from testbed.users.notes import Visit
from testbed.users.probes import visit
from testbed.users.visitors.travel import Visitor
from testbed.users.walks.travel import FEATURES

Change = Callable[[Any], None]
CELLS = Path(__file__).parents[2] / "testbed" / "reports" / "cells.json"
OPEN = ("POST /login", "POST /register")
NAMES = {"ABB": "Abbotsford", "HUR": "Hurst", "MAR": "Marden"}
FARE = 2_350
PATIENCE = 1.5


class Railway:
    """A small railway in memory. ``broken`` gives steps another status, ``twisted`` changes their pages on the way out."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("")
        self.broken: dict[str, int] = {}
        self.twisted: dict[str, Change] = {}
        self.tokens = itertools.count()
        self.names: dict[str, str] = {}
        self.sessions: dict[str, str] = {}
        self.bookings: dict[str, dict[str, Any]] = {}
        self.hour = ""
        """The day and hour of the board that was shown last."""
        self.issued_after = 0.0
        """Seconds between a payment and its ticket."""
        server.expect_request(re.compile("/.*")).respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        step = f"{request.method} {re.sub('R[0-9]+|[0-9]+-[A-Z]{3}-[A-Z]{3}|(?<=stations/)[A-Z]{3}', '0', request.path)}"
        if step in self.broken:
            return Response(json.dumps({"error": "something went wrong"}), self.broken[step])
        user = self.sessions.get(request.cookies.get("session", ""))
        if user is None and step not in OPEN and re.match("/bookings|/account", request.path):
            return Response(json.dumps({"error": "you are not signed in"}), 401)
        body = request.get_json(force=True, silent=True) or {}
        page = self._page(step, request, user or "", body)
        if page is None:
            return Response(json.dumps({"error": "there is no such thing"}), 404)
        page = json.loads(json.dumps(page))
        self.twisted.get(step, lambda _: None)(page)
        response = Response(json.dumps(page), 200)
        if step in OPEN:
            self.names.setdefault(body["email"], body.get("name", ""))
            token = f"s{next(self.tokens)}"
            self.sessions[token] = self.names[body["email"]]
            response.set_cookie("session", token)
        return response

    def _page(self, step: str, request: Request, user: str, body: dict[str, Any]) -> dict[str, Any] | None:
        found = re.search("R[0-9]+", request.path)
        booking = self.bookings.get(found[0]) if found else None
        match step:
            case "GET /":
                return {"stations": NAMES}
            case "GET /stations/0/departures":
                return self._board(request.path.split("/")[2], request.args["date"], request.args["after"])
            case "GET /trips":
                return self._found(**request.args)
            case "GET /trips/0/seats":
                return self._seats(request.path.split("/")[2])
            case "GET /trips/0/fare":
                adults, children = int(request.args.get("adults", 1)), int(request.args.get("children", 0))
                return _fare(request.args.get("card", "none"), adults, children)
            case "POST /bookings":
                return self._book(body)
            case "GET /bookings":
                return {"bookings": list(self.bookings.values())[::-1]}
            case "GET /account":
                return {"name": user}
        if booking is None:
            return {} if step in OPEN else None
        if step.endswith("/payment"):
            booking |= {"state": "paid", "paid_at": time.monotonic()}
        if step.endswith("/cancel"):
            booking |= {"state": "cancelled", "refund": booking["total"] if booking["state"] == "paid" else 0}
        if step.endswith("/ticket"):
            issued = time.monotonic() - booking["paid_at"] >= self.issued_after
            drawn = {"places": ["a seat"], "code": "c", "drawing": "d"}
            return {**booking, **drawn, "state": "valid", "date": booking["departs"][:10]} if issued else None
        return booking

    def _board(self, code: str, day: str, after: str) -> dict[str, Any]:
        self.hour = f"{day}T{after[:3]}"
        others = [c for c in NAMES if c != code]
        departures = [
            {
                "run": run,
                "departs": f"{self.hour}{30 + run:02d}:00+00:00",
                "line": "RE 7",
                "platform": 2,
                "calls": [{"station": c, "name": NAMES[c], "trip": f"{run}-{code}-{c}"} for c in others],
            }
            for run in range(1, 6)
        ]
        return {"station": code, "name": NAMES[code], "departures": departures}

    def _found(self, date: str, after: str, **_: str) -> dict[str, Any]:
        connections = []
        for run in range(1, 6):
            departs, arrives = f"{date}T{after[:3]}{30 + run:02d}:00+00:00", f"{date}T{after[:3]}{50 + run:02d}:00+00:00"
            leg = {"run": run, "departs": departs, "arrives": arrives, "free": 20}
            connections.append({"departs": departs, "arrives": arrives, "minutes": 20, "changes": 0, "legs": [leg]})
        return {"connections": connections, "until": f"{date}T23:59:00+00:00"}

    def _seats(self, trip: str) -> dict[str, Any]:
        live = [b for b in self.bookings.values() if b["trip"] == trip and b["state"] != "cancelled"]
        taken = {seat for booking in live for seat in booking["seats"]}
        seats = [{"seat": seat, "class": 2, "free": seat not in taken} for seat in range(101, 125)]
        drawing = "".join(f'class="{"free" if seat["free"] else "taken"}"' for seat in seats)
        return {"seats": seats, "free": 24 - len(taken), "drawing": drawing, "leg": {"trip": trip}}

    def _book(self, body: dict[str, Any]) -> dict[str, Any]:
        reference = f"R{len(self.bookings)}"
        run, origin, destination = body["trip"].split("-")
        self.bookings[reference] = {
            "reference": reference,
            "state": "held",
            "trip": body["trip"],
            "name": body["name"],
            "seats": body["seats"],
            "total": FARE,
            "departs": f"{self.hour}{30 + int(run):02d}:00+00:00",
            "from": NAMES[origin],
            "to": NAMES[destination],
            "refund": None,
        }
        return self.bookings[reference]


def _fare(card: str, adults: int, children: int) -> dict[str, Any]:
    percent = {"none": 0, "quarter": 25, "half": 50}
    bases = [FARE] * adults + [1_175] * children

    def amounts(name: str) -> list[int]:
        return [base * (100 - percent[name]) // 100 // 5 * 5 for base in bases]

    lines = [{"base": base, "amount": amount} for base, amount in zip(bases, amounts(card), strict=True)]
    total = sum(amounts(card))
    others = {"2": {name: sum(amounts(name)) for name in percent}}
    return {"lines": lines, "total": total, "shown": f"{total // 100}.{total % 100:02d}", "others": others}


@pytest.fixture
def railway(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Railway:
    monkeypatch.setattr(person, "PATIENCE_SECONDS", PATIENCE)
    monkeypatch.setattr("testbed.users.walks.travel.GLANCE_SECONDS", 0.0)
    return Railway(httpserver)


def visits(railway: Railway, feature: str, *between: Callable[[], object]) -> list[Visit]:
    """A visit, and one more after each of these."""

    async def walk() -> list[Visit | None]:
        user = Visitor(railway.url)
        seen = [await visit(feature, FEATURES[feature], user)]
        for change in between:
            change()
            seen.append(await visit(feature, FEATURES[feature], user))
        await user.client.aclose()
        return seen

    return [seen for seen in asyncio.run(walk()) if seen is not None]


def outcomes(railway: Railway, feature: str, *between: Callable[[], object]) -> list[str]:
    return [seen.outcome for seen in visits(railway, feature, *between)]


@pytest.mark.parametrize("feature", FEATURES)
def test_a_railway_in_order_is_ok_again_and_again(railway: Railway, feature: str) -> None:
    assert outcomes(railway, feature, *[lambda: None] * 9) == ["ok"] * 10


@pytest.mark.parametrize("feature", FEATURES)
def test_what_is_booked_to_see_is_cancelled_again(railway: Railway, feature: str) -> None:
    outcomes(railway, feature, *[lambda: None] * 6)
    assert sum(booking["state"] != "cancelled" for booking in railway.bookings.values()) <= 1


def lose_first(name: str) -> Change:
    return lambda page: page[name].pop(0)


def late(page: Any) -> None:
    page["connections"][2]["departs"] = page["connections"][1]["departs"]


def swap(page: Any) -> None:
    page["departures"][1], page["departures"][2] = page["departures"][2], page["departures"][1]


def all_free(page: Any) -> None:
    for seat in page["seats"]:
        seat["free"] = True


def dearer(page: Any) -> None:
    page["lines"][0]["amount"] += 5
    page["total"] += 5


def forget(name: str) -> Change:
    return lambda page: page.pop(name)


def change(name: str, value: Any) -> Change:
    return lambda page: page.update({name: value})


def first_state(page: Any) -> None:
    page["bookings"][0]["state"] = "cancelled"


TWISTS: list[tuple[str, str, Change, str]] = [
    ("trip_search", "GET /trips", lose_first("connections"), "missing_data"),
    ("trip_search", "GET /trips", late, "wrong_data"),
    ("timetable", "GET /stations/0/departures", lose_first("departures"), "missing_data"),
    ("timetable", "GET /stations/0/departures", swap, "wrong_data"),
    ("seat_map", "GET /trips/0/seats", change("seats", []), "missing_data"),
    ("seat_map", "GET /trips/0/seats", all_free, "lost_state"),
    ("seat_map", "GET /trips/0/seats", change("free", 7), "wrong_data"),
    ("fare", "GET /trips/0/fare", lose_first("lines"), "missing_data"),
    ("fare", "GET /trips/0/fare", dearer, "wrong_data"),
    ("book", "POST /bookings", forget("reference"), "missing_data"),
    ("book", "POST /bookings", change("total", FARE + 5), "wrong_data"),
    ("book", "POST /bookings", change("seats", [124]), "wrong_data"),
    ("payment", "POST /bookings/0/payment", change("state", "held"), "wrong_data"),
    ("my_bookings", "GET /bookings", change("bookings", []), "missing_data"),
    ("my_bookings", "GET /bookings", first_state, "wrong_data"),
    ("cancel", "POST /bookings/0/cancel", change("refund", FARE // 2), "wrong_data"),
    ("cancel", "POST /bookings/0/cancel", forget("refund"), "missing_data"),
    ("ticket", "GET /bookings/0/ticket", change("name", "Somebody Else"), "wrong_data"),
    ("ticket", "GET /bookings/0/ticket", change("code", ""), "missing_data"),
]


@pytest.mark.parametrize(("feature", "step", "twist", "outcome"), TWISTS)
def test_what_is_wrong_is_called_by_its_name(railway: Railway, feature: str, step: str, twist: Change, outcome: str) -> None:
    assert outcomes(railway, feature, lambda: railway.twisted.update({step: twist})) == ["ok", outcome]
    cells = {cell["cell"] for cell in json.loads(CELLS.read_text())["cells"]}
    assert f"travel/{feature}/{outcome}" in cells


STEPS = {
    "trip_search": "GET /trips",
    "timetable": "GET /stations/0/departures",
    "seat_map": "GET /trips/0/seats",
    "fare": "GET /trips/0/fare",
    "book": "POST /bookings",
    "payment": "POST /bookings/0/payment",
    "my_bookings": "GET /bookings",
    "cancel": "POST /bookings/0/cancel",
    "login": "POST /login",
    "ticket": "GET /bookings/0/ticket",
}


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize(("status", "outcome"), [(500, "error"), (504, "timeout"), (429, "error")])
def test_a_page_that_fails_is_an_error_and_one_that_hangs_a_timeout(
    railway: Railway, feature: str, status: int, outcome: str
) -> None:
    assert outcomes(railway, feature, lambda: railway.broken.update({STEPS[feature]: status})) == ["ok", outcome]


@pytest.mark.parametrize("feature", ["my_bookings", "book"])
def test_somebody_who_is_signed_out_notes_it_and_signs_in_again(railway: Railway, feature: str) -> None:
    assert outcomes(railway, feature, railway.sessions.clear, lambda: None) == ["ok", "lost_state", "ok"]


@pytest.mark.parametrize("feature", ["payment", "cancel", "ticket"])
def test_nothing_is_said_of_a_feature_that_is_not_reached(railway: Railway, feature: str) -> None:
    def sign_out() -> None:
        railway.sessions.clear()
        railway.broken["POST /login"] = 500

    assert outcomes(railway, feature, sign_out, lambda: None, railway.broken.clear) == ["ok", "ok"]


def test_a_session_that_does_not_last_to_the_next_page_is_something_forgotten(railway: Railway) -> None:
    assert outcomes(railway, "login", lambda: railway.broken.update({"GET /account": 401})) == ["ok", "lost_state"]


@pytest.mark.parametrize("feature", ["payment", "cancel"])
def test_a_booking_that_has_vanished_is_something_forgotten(railway: Railway, feature: str) -> None:
    assert outcomes(railway, feature, lambda: railway.broken.update({STEPS[feature]: 404})) == ["ok", "lost_state"]


def test_a_booking_that_is_gone_after_it_was_made_is_something_forgotten(railway: Railway) -> None:
    assert outcomes(railway, "book", lambda: railway.broken.update({STEPS["cancel"]: 404})) == ["ok", "lost_state"]


def test_a_ticket_that_never_comes_is_a_timeout_as_long_as_patience_lasts(railway: Railway) -> None:
    railway.issued_after = float("inf")
    (seen,) = visits(railway, "ticket")
    assert seen.outcome == "timeout"
    assert seen.seconds >= PATIENCE


def test_a_ticket_that_comes_late_was_waited_for(railway: Railway) -> None:
    railway.issued_after = 0.4
    (seen,) = visits(railway, "ticket")
    assert (seen.outcome, seen.status) == ("ok", 200)
    assert 0.4 <= seen.seconds < PATIENCE
