"""Over travel's public address: no seat is sold twice, money adds up, tickets come once, whichever service was restarted."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from testbed.stack.engine import SERVICE_LABEL, containers, engine
from testbed.stack.project import find_project

pytestmark = pytest.mark.stack

APP = "travel"
CARD = "4242 4242 4242 4242"
DECLINED = "4000 0000 0000 0002"
FIRST_DAY = 15
"""Days from today on which these tests travel; ordinary visitors and probes leave them alone."""
SERVICES = ("gateway", "auth", "trips", "timetable", "seats", "pricing", "booking", "payment", "tickets", "notifier")
STORES = ("postgres", "redis")
WAITING = ("being made", "being changed", "too many requests")
"""Words of a refusal that asks for patience only."""
SETTLED_SECONDS = 40.0


def url() -> str:
    return find_project(APP).url


class Customer:
    """Somebody with an account and a browser."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.email, self.password = f"{secrets.token_hex(8)}@example.com", "seat by the window"
        self.name = f"Mia {secrets.token_hex(3)}"

    async def get(self, path: str, **params: Any) -> Any:
        """A page that must be there. A failure of the site is waited out."""
        answer = await self.patiently("GET", path, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, path: str, body: object = None) -> httpx.Response:
        return await self.client.post(path, json=body)

    async def patiently(self, method: str, path: str, **options: Any) -> httpx.Response:
        """As a patient customer: again while the site fails or asks to wait; signs in again when signed out."""
        deadline = asyncio.get_running_loop().time() + SETTLED_SECONDS
        while True:
            try:
                answer = await self.client.request(method, path, **options)
                if answer.status_code == 401:
                    await self.client.post("/login", json={"email": self.email, "password": self.password})
                elif answer.status_code < 500 and not any(word in answer.text[:200] for word in WAITING):
                    return answer
            except httpx.TransportError:
                if asyncio.get_running_loop().time() > deadline:
                    raise
            else:
                if asyncio.get_running_loop().time() > deadline:
                    return answer
            await asyncio.sleep(0.4)

    async def register(self) -> None:
        answer = await self.post("/register", {"email": self.email, "name": self.name, "password": self.password})
        assert answer.status_code == 201, answer.text

    async def book(self, trip: str, **order: Any) -> httpx.Response:
        return await self.patiently("POST", "/bookings", json={"trip": trip, "key": secrets.token_hex(8), **order})

    async def pay(self, reference: str, card: str = CARD) -> httpx.Response:
        return await self.patiently("POST", f"/bookings/{reference}/payment", json={"card": card})

    async def cancel(self, reference: str) -> httpx.Response:
        return await self.patiently("POST", f"/bookings/{reference}/cancel", json={})

    async def buy(self, trip: str, **order: Any) -> dict[str, Any]:
        booked = await self.book(trip, **order)
        assert booked.status_code == 200, booked.text
        paid = await self.pay(booked.json()["reference"])
        assert paid.status_code == 200, paid.text
        bought: dict[str, Any] = paid.json()
        return bought

    async def ticket(self, reference: str) -> dict[str, Any]:
        """The ticket, once it is issued."""
        for _ in range(60):
            answer = await self.client.get(f"/bookings/{reference}/ticket")
            if answer.status_code == 200:
                issued: dict[str, Any] = answer.json()
                return issued
            assert answer.status_code == 404, answer.text
            await asyncio.sleep(0.25)
        pytest.fail(f"no ticket for {reference} in 15 seconds")

    async def bookings(self, size: int = 50) -> list[dict[str, Any]]:
        """All of them, page by page."""
        found: list[dict[str, Any]] = []
        after: dict[str, int] = {}
        while True:
            page = await self.get("/bookings", size=size, **after)
            found += page["bookings"]
            if page["next"] is None:
                return found
            after = {"after": page["next"]}


@asynccontextmanager
async def customers(count: int) -> AsyncIterator[list[Customer]]:
    """So many, each with an account; at the end they cancel what they still have, so that these tests can run again."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(httpx.AsyncClient(base_url=url(), timeout=20.0)) for _ in range(count)]
        people = [Customer(client) for client in clients]
        for person in people:
            await person.register()
        yield people
        for person in people:
            for booking in await person.bookings():
                if booking["state"] in ("held", "paid", "ticketed"):
                    await person.cancel(booking["reference"])


@asynccontextmanager
async def customer() -> AsyncIterator[Customer]:
    async with customers(1) as (person,):
        yield person


async def departures(person: Customer, code: str, moment: datetime) -> list[dict[str, Any]]:
    page = await person.get(f"/stations/{code}/departures", date=moment.date().isoformat(), after=f"{moment:%H:%M}")
    board: list[dict[str, Any]] = page["departures"]
    return board


async def train(person: Customer, category: str, least_free: int) -> str:
    """A trip to the end of the line on a train of that category with so many free seats, another one each time."""
    stations = list((await person.get("/"))["stations"])
    for _ in range(40):
        day = datetime.now(UTC) + timedelta(days=FIRST_DAY + secrets.randbelow(5))
        board = await departures(person, secrets.choice(stations), day)
        for departure in board:
            trip = str(departure["calls"][-1]["trip"])
            if departure["category"] == category and (await seats(person, trip))["free"] >= least_free:
                return trip
    pytest.fail(f"no {category} with {least_free} free seats")


async def seats(person: Customer, trip: str) -> dict[str, Any]:
    page: dict[str, Any] = await person.get(f"/trips/{trip}/seats")
    return page


async def free_seats(person: Customer, trip: str, comfort: int = 2) -> list[int]:
    return [seat["seat"] for seat in (await seats(person, trip))["seats"] if seat["free"] and seat["class"] == comfort]


async def twenty_want_the_same_seat() -> None:
    async with customers(20) as people:
        trip = await train(people[0], "RE", least_free=40)
        seat = (await free_seats(people[0], trip))[7]
        answers = await asyncio.gather(*(person.book(trip, seats=[seat]) for person in people))
        assert Counter(a.status_code for a in answers) == {200: 1, 409: 19}, [a.text for a in answers]
        assert all("taken" in a.json()["error"] for a in answers if a.status_code == 409)
        (winner,) = [i for i, answer in enumerate(answers) if answer.status_code == 200]
        won = answers[winner].json()
        assert won["seats"] == [seat]
        assert (await people[winner].pay(won["reference"])).status_code == 200
        again = await people[winner - 1].book(trip, seats=[seat])
        assert again.status_code == 409, again.text
        assert seat not in await free_seats(people[0], trip)


def test_a_seat_is_sold_to_exactly_one_of_twenty_who_want_it_at_once() -> None:
    asyncio.run(twenty_want_the_same_seat())


async def sell_out() -> None:
    async with customers(12) as people:
        trip = await train(people[0], "RB", least_free=20)
        left = (await seats(people[0], trip))["free"]
        for _ in range((left - 7) // 6 + 1):
            assert (await people[0].book(trip, adults=6)).status_code == 200
        left = (await seats(people[0], trip))["free"]
        assert 0 < left < 12
        answers = await asyncio.gather(*(person.book(trip) for person in people))
        assert Counter(a.status_code for a in answers) == {200: left, 409: 12 - left}, [a.text for a in answers]
        sold = [seat for a in answers if a.status_code == 200 for seat in a.json()["seats"]]
        assert len(set(sold)) == left
        assert (await seats(people[0], trip))["free"] == 0


def test_the_last_seats_of_a_train_are_never_oversold() -> None:
    asyncio.run(sell_out())


async def book_with_one_key() -> None:
    async with customer() as person:
        trip = await train(person, "RE", least_free=40)
        before, key = (await seats(person, trip))["free"], secrets.token_hex(8)
        answers = await asyncio.gather(*(person.book(trip, adults=2, key=key) for _ in range(5)))
        assert {a.status_code for a in answers} == {200}, [a.text for a in answers]
        assert len({a.json()["reference"] for a in answers}) == 1
        assert len(await person.bookings()) == 1
        assert (await seats(person, trip))["free"] == before - 2


def test_the_same_order_sent_five_times_at_once_is_one_booking() -> None:
    asyncio.run(book_with_one_key())


async def pay_at_once() -> None:
    async with customer() as person:
        trip = await train(person, "RE", least_free=40)
        booked = (await person.book(trip, adults=2)).json()
        refused = await person.pay(booked["reference"], DECLINED)
        assert (refused.status_code, refused.json()["error"]) == (402, "the card was declined")
        assert (await person.get(f"/bookings/{booked['reference']}"))["state"] == "held"
        answers = await asyncio.gather(*(person.pay(booked["reference"]) for _ in range(5)))
        assert {a.status_code for a in answers} == {200}, [a.text for a in answers]
        page = await person.get(f"/bookings/{booked['reference']}")
        assert page["payment"] == {"captured": booked["total"], "refunded": 0}
        account = await person.get("/account")
        assert (account["captured"], account["refunded"]) == (booked["total"], 0)


def test_a_booking_paid_five_times_at_once_is_paid_once_and_a_declined_card_costs_nothing() -> None:
    asyncio.run(pay_at_once())


async def follow_the_figures() -> None:
    async with customer() as person:
        trip = await train(person, "IC", least_free=100)
        party = {"class": 1, "adults": 2, "children": 1, "card": "quarter"}
        quote = await person.get(f"/trips/{trip}/fare", **party)
        assert quote["total"] == sum(line["amount"] for line in quote["lines"])
        assert quote["total"] < (await person.get(f"/trips/{trip}/fare", **(party | {"card": "none"})))["total"]
        places = (await free_seats(person, trip, comfort=1))[:3]
        booked = (await person.book(trip, seats=places, name="Ola Nordmann", **party)).json()
        assert (booked["total"], booked["seats"], booked["name"]) == (quote["total"], places, "Ola Nordmann")
        assert (await person.pay(booked["reference"])).json()["total"] == quote["total"]
        ticket = await person.ticket(booked["reference"])
        assert (ticket["total"], ticket["seats"], ticket["name"]) == (quote["total"], places, "Ola Nordmann")
        assert ticket["date"] == quote["leg"]["departs"][:10]
        assert ticket["places"] == booked["places"]
        page = await person.get(f"/bookings/{booked['reference']}")
        assert page["payment"] == {"captured": quote["total"], "refunded": 0}


def test_quote_booking_payment_and_ticket_have_the_same_figures() -> None:
    asyncio.run(follow_the_figures())


async def issue_once() -> None:
    async with customer() as person:
        first, second = [await person.buy(await train(person, "RE", least_free=40)) for _ in range(2)]
        one, other = await person.ticket(first["reference"]), await person.ticket(second["reference"])
        assert await person.ticket(first["reference"]) == one
        assert one["code"] != other["code"]
        assert one["state"] == "valid"
        assert await until(lambda: has_messages(person, 2))
        told = Counter((m["booking"], m["kind"]) for m in (await person.get("/inbox"))["messages"])
        assert told == {(first["reference"], "booking-paid"): 1, (second["reference"], "booking-paid"): 1}
        await person.cancel(first["reference"])
        assert await until(lambda: is_void(person, first["reference"]))
        assert (await person.ticket(second["reference"]))["state"] == "valid"


async def has_messages(person: Customer, count: int) -> bool:
    return len((await person.get("/inbox"))["messages"]) >= count


async def is_void(person: Customer, reference: str) -> bool:
    return bool((await person.ticket(reference))["state"] == "void")


async def until(is_so: Callable[[], Awaitable[bool]], seconds: float = 15.0) -> bool:
    deadline = asyncio.get_running_loop().time() + seconds
    while not await is_so():
        if asyncio.get_running_loop().time() > deadline:
            return False
        await asyncio.sleep(0.5)
    return True


def test_a_ticket_is_issued_once_told_of_once_and_void_once_cancelled() -> None:
    asyncio.run(issue_once())


async def cancel_one(least: timedelta, most: timedelta, percent: int) -> None:
    async with customer() as person:
        now = datetime.now(UTC)
        stations = list((await person.get("/"))["stations"])
        for code in stations:
            board = await departures(person, code, now + least)
            fitting = [d for d in board if least < datetime.fromisoformat(d["departs"]) - now < most]
            for departure in fitting[:2]:
                booked = await person.book(departure["calls"][-1]["trip"])
                if booked.status_code == 200:
                    break
            else:
                continue
            break
        else:
            pytest.fail("no train leaves in that time")
        reference, total, trip = (booked.json()[name] for name in ("reference", "total", "trip"))
        (seat,) = booked.json()["seats"]
        assert (await person.pay(reference)).status_code == 200
        assert seat not in await free_seats(person, trip)
        due = total * percent // 100
        assert (await person.get(f"/bookings/{reference}"))["refund_now"] == due
        answers = await asyncio.gather(*(person.cancel(reference) for _ in range(3)))
        assert {(a.status_code, a.json().get("state"), a.json().get("refund")) for a in answers} == {(200, "cancelled", due)}
        assert (await person.get(f"/bookings/{reference}"))["payment"] == {"captured": total, "refunded": due}
        account = await person.get("/account")
        assert (account["captured"], account["refunded"]) == (total, due)
        assert seat in await free_seats(person, trip)
        refused = await person.pay(reference)
        assert refused.status_code == 409


@pytest.mark.parametrize(
    ("least", "most", "percent"),
    [
        (timedelta(days=2, minutes=3), timedelta(days=3), 100),
        (timedelta(hours=1, minutes=3), timedelta(days=1, hours=23), 50),
        (timedelta(minutes=3), timedelta(minutes=58), 0),
    ],
    ids=["all until two days before", "half until one hour before", "nothing later"],
)
def test_cancelling_gives_back_what_the_rule_says_once_and_frees_the_seat(
    least: timedelta, most: timedelta, percent: int
) -> None:
    asyncio.run(cancel_one(least, most, percent))


async def page_through() -> None:
    async with customer() as person:
        trip = await train(person, "RE", least_free=60)
        made = [(await person.book(trip)).json()["reference"] for _ in range(7)]
        first = await person.get("/bookings", size=3)
        late = (await person.book(trip)).json()["reference"]
        rest: list[str] = []
        after = first["next"]
        while after is not None:
            page = await person.get("/bookings", size=3, after=after)
            rest += [b["reference"] for b in page["bookings"]]
            after = page["next"]
        assert [b["reference"] for b in first["bookings"]] + rest == made[::-1]
        assert [b["reference"] for b in await person.bookings(size=2)] == [late, *made[::-1]]


def test_my_bookings_page_by_page_show_each_once_while_another_is_made() -> None:
    asyncio.run(page_through())


async def sign_out() -> None:
    async with customers(2) as (person, other):
        kept = person.client.cookies["session"]
        bought = await person.buy(await train(person, "RE", least_free=40))
        for path in ("", "/ticket"):
            assert (await other.client.get(f"/bookings/{bought['reference']}{path}")).status_code == 404
        assert (await other.post(f"/bookings/{bought['reference']}/cancel")).status_code == 404
        assert (await person.post("/logout")).status_code == 200
        thief = httpx.AsyncClient(base_url=url(), cookies={"session": kept}, timeout=20.0)
        forged = httpx.AsyncClient(base_url=url(), cookies={"session": f"{kept.split('.')[0]}.{'0' * 16}"}, timeout=20.0)
        for client in (person.client, thief, forged):
            assert (await client.get("/bookings")).status_code == 401
            assert (await client.post("/bookings", json={})).status_code == 401
        await thief.aclose()
        await forged.aclose()
        wrong = await person.post("/login", {"email": person.email, "password": "not this one"})
        assert wrong.status_code == 401
        right = await person.post("/login", {"email": person.email, "password": person.password})
        assert (right.status_code, right.json()["name"]) == (200, person.name)
        assert [b["reference"] for b in await person.bookings()] == [bought["reference"]]


def test_signing_out_ends_the_session_and_bookings_are_their_owners_only() -> None:
    asyncio.run(sign_out())


async def refused(method: str, path: str, body: bytes) -> httpx.Response:
    async with customer() as person:
        return await person.client.request(method, path, content=body)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/bookings", b""),
        ("POST", "/bookings", b"[1]"),
        ("POST", "/bookings", b"\xff"),
        ("POST", "/bookings", b'{"trip": "1-ABB-HUR"}'),
        ("POST", "/bookings", b'{"trip": "nowhere", "key": "k"}'),
        ("POST", "/bookings", b'{"trip": "999999999-ABB-HUR", "key": "k"}'),
        ("POST", "/bookings", b'{"trip": "30001-ABB-ABB", "key": "k"}'),
        ("POST", "/bookings", b'{"trip": "30001-ABB-HUR", "key": "k", "adults": 0}'),
        ("POST", "/bookings", b'{"trip": "30001-ABB-HUR", "key": "k", "adults": 99999999999999999999}'),
        ("POST", "/bookings", b'{"trip": "30001-ABB-HUR", "key": "k", "adults": 1, "seats": [201, 202]}'),
        ("POST", "/bookings", b'{"trip": "30001-ABB-HUR", "key": "k", "adults": 2, "seats": [201, 201]}'),
        ("POST", "/bookings", b'{"trip": "30001-ABB-HUR", "key": "k", "seats": ["one"]}'),
        ("POST", "/bookings", b'{"trip": "30001-ABB-HUR", "key": "k", "seats": [99999999999999]}'),
        ("POST", "/bookings", b'{"trip": "30001-ABB-HUR", "key": "k", "class": 3}'),
        ("POST", "/bookings", b'{"trip": "30001-ABB-HUR", "key": "k", "card": "golden"}'),
        ("POST", "/bookings/AAAAAAAA/payment", b'{"card": "4242424242424242"}'),
        ("POST", "/bookings/AAAAAAAA/payment", b"{}"),
        ("POST", "/bookings/AAAAAAAA/cancel", b"{}"),
        ("GET", "/bookings/AAAAAAAA/ticket", b""),
        ("GET", "/bookings/..%2f..%2faccounts", b""),
        ("GET", "/bookings?size=1000", b""),
        ("GET", "/bookings?after=x", b""),
        ("GET", "/trips?from=ABB&to=ABB&date=2026-11-21", b""),
        ("GET", "/trips?from=ABB&to=XXX&date=2026-11-21", b""),
        ("GET", "/trips?from=ABB&to=HUR&date=tomorrow", b""),
        ("GET", "/trips?from=ABB&to=HUR&date=2026-02-31", b""),
        ("GET", "/trips?from=ABB&to=HUR", b""),
        ("GET", "/stations/XXX/departures?date=2026-11-21", b""),
        ("GET", "/stations/ABB/departures", b""),
        ("GET", "/trips/999999999-ABB-HUR/seats", b""),
        ("GET", "/trips/x/seats", b""),
        ("GET", "/trips/30001-ABB-HUR/fare?adults=-1", b""),
        ("GET", "/trips/30001-ABB-HUR/fare?card=golden&path=x", b""),
        ("POST", "/login", b'{"email": "nobody@example.com", "password": "x"}'),
        ("POST", "/login", b'{"email": "\\u0000", "password": "x"}'),
        ("POST", "/register", b'{"email": "nobody", "name": "N", "password": "long enough"}'),
        ("POST", "/register", b'{"email": "n@example.com", "name": "N", "password": "short"}'),
        ("GET", "/nowhere", b""),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(method: str, path: str, body: bytes) -> None:
    answer = asyncio.run(refused(method, path, body))
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.json()["error"]


@dataclass
class Buyer:
    """A customer during a restart, and what the site has said yes to."""

    person: Customer
    held: set[str] = field(default_factory=set)
    paid: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)

    async def go_on(self, trip: str, wanted: list[int], over: asyncio.Event) -> None:
        """Book a seat that others want too, pay, now and then cancel: each step until the site says yes or no."""
        while not over.is_set():
            booked = await self.person.book(trip, seats=[secrets.choice(wanted)])
            if booked.status_code != 200:
                assert booked.status_code == 409, booked.text
                await asyncio.sleep(0.2)
                continue
            reference = booked.json()["reference"]
            self.held.add(reference)
            paid = await self.person.pay(reference)
            assert paid.status_code == 200, paid.text
            self.paid.add(reference)
            if secrets.randbelow(3):
                cancelled = await self.person.cancel(reference)
                assert cancelled.status_code == 200, cancelled.text
                self.cancelled.add(reference)

    async def is_settled(self) -> bool:
        """Nothing is half done any more, and every ticket is there."""
        bookings = await self.person.bookings()
        return all(b["state"] in ("held", "ticketed", "cancelled", "expired") for b in bookings)

    async def agree(self) -> list[int]:
        """Every yes has come true, and the money adds up; the seats that are this buyer's for good."""
        bookings = {b["reference"]: b for b in await self.person.bookings()}
        assert self.held <= bookings.keys()
        states = {reference: booking["state"] for reference, booking in bookings.items()}
        assert all(states[r] == "cancelled" for r in self.cancelled), states
        assert all(states[r] == "ticketed" for r in self.paid - self.cancelled), states
        due = 0
        for reference, booking in bookings.items():
            if booking["state"] == "ticketed":
                due += booking["total"]
                ticket = await self.person.ticket(reference)
                assert (ticket["state"], ticket["seats"], ticket["name"]) == ("valid", booking["seats"], self.person.name)
            elif booking["state"] == "cancelled" and reference in self.paid:
                due += booking["total"] - booking["refund"]
        account = await self.person.get("/account")
        assert account["captured"] - account["refunded"] == due
        return [seat for b in bookings.values() if b["state"] == "ticketed" for seat in b["seats"]]


def restart(service: str) -> None:
    project = find_project(APP)
    with engine() as client:
        (found,) = [c for c in containers(client, project.name) if c.labels[SERVICE_LABEL] == service]
        found.restart(timeout=3)


async def restart_during_traffic(service: str) -> None:
    async with customers(4) as people:
        trip = await train(people[0], "RE", least_free=60)
        wanted = (await free_seats(people[0], trip))[:10]
        buyers, over = [Buyer(person) for person in people], asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for buyer in buyers:
                group.create_task(buyer.go_on(trip, wanted, over))
            await asyncio.sleep(1.5)
            await asyncio.to_thread(restart, service)
            await asyncio.sleep(3.0)
            over.set()
        assert sum(len(buyer.paid) for buyer in buyers) > 0
        for buyer in buyers:
            assert await until(buyer.is_settled, SETTLED_SECONDS), await buyer.person.bookings()
        sold = [seat for buyer in buyers for seat in await buyer.agree()]
        assert len(sold) == len(set(sold))
        assert not set(sold) & set(await free_seats(people[0], trip))


@pytest.mark.parametrize("service", SERVICES + STORES)
def test_after_a_restart_every_yes_comes_true(service: str) -> None:
    asyncio.run(restart_during_traffic(service))
