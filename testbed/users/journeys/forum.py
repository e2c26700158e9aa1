"""Visitors of the forum: most of them read, some vote on what they read, few write."""

from __future__ import annotations

import random
import secrets
from typing import Any

from locust import HttpUser, between, task

ANIMALS = ("otter", "heron", "badger", "lynx", "raven", "marten", "finch", "viper", "ibex", "crane", "newt", "stoat")
PASSWORD = "correct horse battery"
MEMBERS = 20_000
QUIET = "newcomers"
"""The community where others try things out: nobody here votes or writes there."""
RECENT = 30_000
"""Posts from this number on are still talked about."""
WORDS = (
    "bread",
    "timber",
    "harvest",
    "old routes",
    "telescopes",
    "broken motors",
    "winter seeds",
    "maps",
    "grammar",
    "bikes or boats",
)
SENTENCES = (
    "I had the *same* problem last year.",
    "Have you tried it the other way round?",
    "Thanks, that was **exactly** what I needed.",
    "> quite the opposite\n\nNot in my experience, to be honest.",
    "There are three things:\n\n- time\n- patience\n- a bit of luck",
    "See c/linux for more of this.",
)


class Reader(HttpUser):
    """Reads for some seconds at a time; nobody knows who it is."""

    weight = 5
    wait_time = between(1.5, 3.5)
    network_timeout = 10.0
    connection_timeout = 5.0

    @task(5)
    def front(self) -> None:
        """The front page, and often a post on it."""
        page = self.page("/")
        if page and random.random() < 0.7:
            self.open_one(page["posts"])

    @task(4)
    def community(self) -> None:
        """A community, now and then its second page, and a post."""
        page = self.page("/")
        names = [name for name in page["communities"] if name != QUIET] if page else []
        if not names:
            return
        path = f"/c/{random.choice(names)}"
        found = self.page(path, name="/c/{name}")
        if found and found["next"] and random.random() < 0.3:
            found = self.page(path, name="/c/{name}", after=found["next"])
        if found:
            self.open_one(found["posts"])

    @task(2)
    def search(self) -> None:
        """Search and open a hit."""
        found = self.page("/search", q=random.choice(WORDS))
        if found:
            self.open_one(found["posts"])

    @task(1)
    def who_is_that(self) -> None:
        """A member's page."""
        page = self.page("/")
        if page and page["posts"]:
            self.page(f"/u/{random.choice(page['posts'])['author']}", name="/u/{name}")

    def open_one(self, posts: list[Any]) -> Any:
        """The page of one of the posts; None when there is none that one would open."""
        known = [each for each in posts if each["community"] != QUIET and each["id"] >= RECENT]
        return self.page(f"/posts/{random.choice(known)['id']}", name="/posts/{id}") if known else None

    def page(self, path: str, name: str | None = None, **params: str | int) -> Any:
        """A page's content; None when it does not load."""
        answer = self.client.get(path, params=params, name=name or path)
        return answer.json() if answer.status_code < 400 else None


class Voter(Reader):
    """A member who votes on what there is to read."""

    weight = 2

    def on_start(self) -> None:
        """Sign in."""
        number = random.randint(1, MEMBERS)
        self.client.post("/login", json={"name": f"{ANIMALS[number % len(ANIMALS)]}{number}", "password": PASSWORD})

    def put(self, path: str, name: str, body: dict[str, Any]) -> None:
        """Do something that only members can; sign in again where the site has forgotten who it is."""
        method = "PUT" if name.endswith("vote") else "POST"
        answer = self.client.request(method, path, json=body, name=name)
        if answer.status_code == 401:
            self.on_start()

    @task(6)
    def vote(self) -> None:
        """Open a post; vote on it, or on a comment below."""
        front = self.page("/")
        page = self.open_one(front["posts"]) if front else None
        if not page:
            return
        value = random.choices((1, -1, 0), (75, 20, 5))[0]
        if page["comments"] and random.random() < 0.4:
            number = random.choice(page["comments"])["id"]
            self.put(f"/comments/{number}/vote", "/comments/{id}/vote", {"value": value})
        else:
            self.put(f"/posts/{page['post']['id']}/vote", "/posts/{id}/vote", {"value": value})


class Writer(Voter):
    """A member who also writes, and looks for answers."""

    weight = 1

    @task(3)
    def answer(self) -> None:
        """Comment on a post, or on a comment below it."""
        front = self.page("/")
        page = self.open_one(front["posts"]) if front else None
        if page:
            parent = random.choice(page["comments"])["id"] if page["comments"] and random.random() < 0.5 else None
            body = {"body": random.choice(SENTENCES), "parent": parent, "key": secrets.token_hex(8)}
            self.put(f"/posts/{page['post']['id']}/comments", "/posts/{id}/comments", body)

    @task(1)
    def submit(self) -> None:
        """A post of one's own."""
        front = self.page("/")
        names = [name for name in front["communities"] if name != QUIET] if front else []
        if names:
            title = f"A question about {random.choice(WORDS)}"
            body = "\n\n".join(random.sample(SENTENCES, 3))
            self.put(
                "/posts", "/posts", {"community": random.choice(names), "title": title, "body": body, "key": secrets.token_hex(8)}
            )

    @task(2)
    def inbox(self) -> None:
        """Who has answered? Read it all."""
        page = self.page("/inbox")
        if page is None:
            self.on_start()
        elif page["unread"]:
            self.put("/inbox/read", "/inbox/read", {})


USERS = [Reader, Voter, Writer]
