"""A member of the forum: what was posted, voted and answered, and what must therefore be seen."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass, field
from typing import Any

import httpx

from testbed.users.person import NotReachedError, Person

SESSION_VISITS = 20
"""Visits by one member, before signing in again."""
QUIET = "newcomers"
"""The community where members try things out; the load leaves it alone."""
TITLES = (
    "Bread that never rises",
    "Repotting in the middle of winter",
    "A bicycle that squeaks in the rain",
    "Which telescope for a balcony",
    "Old timber for new shelves",
    "Reading novels on the train",
    "Cats that open doors",
    "A chess opening for beginners",
    "Boots that keep dry",
    "Honey from the city",
)
OLD_POSTS = range(1_500, 29_500, 100)
"""Long threads of long ago: nobody writes there any more."""


@dataclass(slots=True)
class Mine:
    """What a member has written and cast."""

    post: int
    title: str
    word: str
    comments: list[tuple[int, int | None, str]] = field(default_factory=list)
    """Number, what it answers, text."""
    vote: int = 0


class Visitor(Person):
    """A member with an account of their own, and a friend who answers."""

    def __init__(self, url: str, number: int = 0) -> None:
        super().__init__(url, number)
        self.name, self.password, self.is_member = new_name(), secrets.token_hex(8), False
        self.signed_in = False
        self.mine: Mine | None = None
        self.friend: Visitor | None = None
        self.posts = itertools.cycle(OLD_POSTS[number % 7 :: 7])
        self.known: dict[int, tuple[str, str]] = {}
        self.next_page: dict[str, int | None] = {}

    async def sign_in(self) -> None:
        """Register the first time, then sign in. Raises ``NotReachedError``."""
        who = {"name": self.name, "password": self.password}
        try:
            await self.reach("POST", "/login" if self.is_member else "/register", who)
        except NotReachedError:
            if self.is_member:
                raise
            # Perhaps only the answer was lost.
            await self.reach("POST", "/login", who)
        self.is_member = self.signed_in = True

    async def ready(self, visits: int = SESSION_VISITS) -> None:
        """Be signed in, anew from time to time. Raises ``NotReachedError``."""
        if self.turns(visits) or not self.signed_in:
            await self.anew(self.sign_in, has_old=self.signed_in)

    async def write_post(self) -> Mine:
        """A post of one's own in the quiet community. Raises ``NotReachedError``."""
        title, word = secrets.choice(TITLES), rare_word()
        body = {"community": QUIET, "title": title, "body": f"It is about **{word}** mostly."}
        try:
            return Mine(int((await self.reach("POST", "/posts", body))["id"]), title, word)
        except NotReachedError:
            self.signed_in = False
            raise

    async def aside(self, method: str, path: str, body: object = None) -> httpx.Response | None:
        """Something on the side, not timed; None when there is no answer, which is for its own visitor to note."""
        timed = self.at, self.seconds
        try:
            return await self.ask(method, path, json=body)
        except (TimeoutError, httpx.TransportError):
            return None
        finally:
            self.at, self.seconds = timed

    async def look(self, path: str) -> Any:
        """A page on the side; None when it does not load."""
        answer = await self.aside("GET", path)
        return None if answer is None or answer.status_code >= 400 else answer.json()


def new_name() -> str:
    """A name that no other member has."""
    return f"{secrets.choice(('juno', 'mira', 'otto', 'sten', 'vera', 'hugo'))}-{secrets.token_hex(4)}"


def rare_word() -> str:
    """A word that no other post has."""
    return "".join(secrets.choice("bdfgklmnprstvz") + secrets.choice("aeiou") for _ in range(6))
