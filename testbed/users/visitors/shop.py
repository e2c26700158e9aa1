"""A customer of the shop: what was bought, and what must therefore be seen."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass

import httpx

from testbed.users.person import Person, Seen, seen

CARD = "4242 4242 4242 4242"
PASSWORD = "a lamp in the window"
SESSION_VISITS = 4
"""Visits to cart or orders by one person, before the next has a look."""
PRODUCTS = 11_900
"""The shop has more, but those sell out."""
FREE_FROM = 10_000
PARCELS = ((2_000, 490), (10_000, 690), (31_500, 1_490))
"""What the shop promises for a parcel within Germany: grams up to which, cents; and free delivery from so many cents."""


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was put in the cart; ``price`` in cents, ``weight`` in grams."""

    product: int
    name: str
    price: int
    weight: int
    quantity: int

    @property
    def amount(self) -> int:
        """What all of it costs."""
        return self.price * self.quantity

    @property
    def delivery(self) -> int:
        """What its delivery costs within Germany."""
        grams = self.weight * self.quantity
        return 0 if self.amount >= FREE_FROM else next(cents for up_to, cents in PARCELS if grams <= up_to)

    @property
    def due(self) -> int:
        """What an order of it alone costs, with delivery."""
        return self.amount + self.delivery


@dataclass(frozen=True, slots=True)
class Order:
    """A placed order and what it cost, in cents."""

    number: int
    total: int


class Visitor(Person):
    """A customer."""

    def __init__(self, url: str, number: int = 0) -> None:
        super().__init__(url, number)
        self.products = itertools.cycle(range(1 + 37 * number, PRODUCTS, 97))
        self.email = ""
        self.cart: Line | None = None
        self.order: Order | None = None

    async def join(self) -> None:
        """An account, signed in: a new one at first and each few visits, as others come. Raises ``NotReachedError``."""

        async def start() -> None:
            email = new_email(self.number)
            await self.reach("POST", "/register", {"email": email, "password": PASSWORD, "name": "Mina"})
            self.email, self.order = email, None

        if self.turns(SESSION_VISITS) or not self.email:
            await self.anew(start, has_old=bool(self.email))

    async def fill(self, quantity: int) -> Line:
        """A product put into a new session's cart, whoever is signed in. Raises ``NotReachedError``."""
        self.client.cookies.delete("session")
        number = next(self.products)
        page = await self.reach("POST", "/cart", {"product": number, "quantity": quantity})
        return Line(number, str(page["name"]), int(page["price"]), int(page["weight"]), quantity)

    async def pay(self, amount: int) -> str:
        """A token for the amount. Raises ``NotReachedError``."""
        return str((await self.reach("POST", "/payment", {"card": CARD, "amount": amount}))["token"])

    async def buy(self) -> Order:
        """An order of one product. Raises ``NotReachedError``."""
        line = await self.fill(1)
        token = await self.pay(line.due)
        placed = await self.reach("POST", "/checkout", {"token": token, "key": secrets.token_hex(8)})
        return Order(int(placed["order"]), line.due)

    async def then_account(self, entered: httpx.Response, email: str) -> Seen:
        """After signing in, the account's page, timed with it: who is not known there is not signed in."""
        if entered.status_code >= 400:
            return Seen(entered)
        at, seconds = self.at, self.seconds
        try:
            answer = await self.ask("GET", "/account")
        finally:
            self.at, self.seconds = at, seconds + self.seconds
        if answer.status_code == httpx.codes.UNAUTHORIZED:
            return Seen(answer, "lost_state")
        return seen(answer, lambda page: "" if page["email"] == email else "lost_state")

    def signed_out(self, answer: httpx.Response) -> bool:
        """Whether the shop does not know who this is any more; the next visit then begins with a new account."""
        out = bool(self.email) and answer.status_code == httpx.codes.UNAUTHORIZED
        if out:
            self.email, self.order = "", None
        return out


def new_email(number: int) -> str:
    """An address that no other customer has."""
    return f"visitor{number}-{secrets.token_hex(6)}@example.org"
