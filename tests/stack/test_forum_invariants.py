"""Over the forum's public address: votes count once, nothing written is lost or doubled, whatever is restarted meanwhile."""

from __future__ import annotations

import asyncio
import itertools
import random
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
import redis
from docker.models.containers import Container

from testbed.stack.engine import SERVICE_LABEL, containers, engine
from testbed.stack.project import find_project

pytestmark = pytest.mark.stack

APP = "forum"
PROJECT = find_project(APP)
QUIET = "newcomers"
"""The community that the load leaves alone."""
PASSWORD = "battery staple horse"
SOON = 8.0
"""Seconds within which a vote is counted and a reply delivered while all is well, with time to spare."""
RECONCILED = 40.0
"""Seconds within which everything adds up again after a restart."""
QUEUES = ("queue:votes", "queue:comment-posted")


@dataclass
class Member:
    """Somebody signed in."""

    name: str
    http: httpx.AsyncClient

    async def do(self, method: str, path: str, body: object = None, **params: int | str) -> Any:
        """Something that must work."""
        answer = await self.http.request(method, path, json=body, params=params)
        assert answer.status_code < 300, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    async def submit(self, title: str = "A title", body: str = "A body", **more: str) -> int:
        return int((await self.do("POST", "/posts", {"community": QUIET, "title": title, "body": body, **more}))["id"])

    async def comment(self, post: int, body: str = "A comment", parent: int | None = None, **more: str) -> int:
        written = await self.do("POST", f"/posts/{post}/comments", {"body": body, "parent": parent, **more})
        return int(written["id"])

    async def vote(self, kind: str, item: int, value: int) -> None:
        await self.do("PUT", f"/{kind}s/{item}/vote", {"value": value})

    async def karma(self) -> int:
        return int((await self.do("GET", f"/u/{self.name}"))["member"]["karma"])

    async def walk(self, path: str, what: str, size: int, pages: int = 1000) -> list[Any]:
        """The entries of all pages of a list."""
        entries: list[Any] = []
        after: dict[str, int] = {}
        for _ in range(pages):
            page = await self.do("GET", path, size=size, **after)
            entries += page[what]
            if page["next"] is None:
                break
            after = {"after": page["next"]}
        return entries


@asynccontextmanager
async def members(count: int) -> AsyncIterator[list[Member]]:
    """Newly registered members, each with a browser of their own."""
    joined = [Member(f"t-{secrets.token_hex(6)}", httpx.AsyncClient(base_url=PROJECT.url, timeout=20.0)) for _ in range(count)]
    try:
        for member in joined:
            await member.do("POST", "/register", {"name": member.name, "password": PASSWORD})
        yield joined
    finally:
        for member in joined:
            await member.http.aclose()


async def eventually(check: Callable[[], Awaitable[None]], seconds: float = SOON) -> None:
    """What must hold before the time is up, and then says what does not."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            await check()
        except (AssertionError, httpx.TransportError, redis.RedisError):
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.3)
        else:
            return


def shown(comments: list[Any], under: int | None = None) -> list[tuple[int, int | None, Any]]:
    """Every comment of a tree with what it stands under."""
    return [pair for c in comments for pair in ((c["id"], under, c), *shown(c["replies"], c["id"]))]


def run(story: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(story())


async def scored(reader: Member, post: int, score: int) -> None:
    async def check() -> None:
        assert (await reader.do("GET", f"/posts/{post}"))["post"]["score"] == score

    await eventually(check)


def test_the_same_vote_sent_five_times_at_once_counts_once() -> None:
    async def story() -> None:
        async with members(1) as [member]:
            post = await member.submit()
            await asyncio.gather(*(member.vote("post", post, 1) for _ in range(5)))
            assert (await member.do("GET", f"/posts/{post}"))["post"]["vote"] == 1
            await scored(member, post, 1)
            await asyncio.sleep(1.0)
            await scored(member, post, 1)

    run(story)


def test_the_score_is_the_sum_of_everybodys_votes() -> None:
    async def story() -> None:
        async with members(20) as crowd:
            post = await crowd[0].submit()
            comment = await crowd[0].comment(post)
            cast = [(1, -1, 1, 0, 1)[n % 5] for n in range(20)]
            await asyncio.gather(*(m.vote("post", post, v) for m, v in zip(crowd, cast, strict=True)))
            await asyncio.gather(*(m.vote("comment", comment, -v) for m, v in zip(crowd, cast, strict=True)))
            await scored(crowd[0], post, sum(cast))

            async def check() -> None:
                (below,) = (await crowd[1].do("GET", f"/posts/{post}"))["comments"]
                assert (below["score"], below["vote"]) == (-sum(cast), -cast[1])

            await eventually(check)

    run(story)


def test_a_vote_that_is_changed_or_withdrawn_counts_as_it_was_cast_last() -> None:
    async def story() -> None:
        async with members(2) as [member, other]:
            post = await member.submit()
            for value in (1, -1, 0, 1, -1):
                await member.vote("post", post, value)
                assert (await member.do("GET", f"/posts/{post}"))["post"]["vote"] == value
            await scored(member, post, -1)
            await other.vote("post", post, 1)
            await member.vote("post", post, 0)
            await scored(member, post, 1)

    run(story)


def test_opposite_votes_of_one_member_at_once_end_as_what_is_shown_as_cast() -> None:
    async def story() -> None:
        async with members(1) as [member]:
            post = await member.submit()
            await asyncio.gather(*(member.vote("post", post, value) for value in (1, -1, 0, 1, -1, 1, 0, -1)))
            cast = (await member.do("GET", f"/posts/{post}"))["post"]["vote"]
            await scored(member, post, cast)
            await asyncio.sleep(1.0)
            await scored(member, post, cast)

    run(story)


def test_karma_is_the_sum_of_the_scores_of_all_that_one_wrote() -> None:
    async def story() -> None:
        async with members(4) as [author, *crowd]:
            posts = [await author.submit() for _ in range(2)]
            comment = await crowd[0].comment(posts[0])
            reply = await author.comment(posts[0], parent=comment)
            for member in crowd:
                await member.vote("post", posts[0], 1)
                await member.vote("comment", reply, 1)
            await crowd[0].vote("post", posts[1], -1)

            async def check() -> None:
                assert await author.karma() == 3 + 3 - 1
                page = await author.do("GET", f"/u/{author.name}")
                assert sum(written["score"] for written in page["posts"] + page["comments"]) == 3 + 3 - 1

            await eventually(check)
            await crowd[1].vote("comment", reply, 0)

            async def withdrawn() -> None:
                assert await author.karma() == 3 + 2 - 1

            await eventually(withdrawn)

    run(story)


def test_a_comment_sent_four_times_at_once_stands_once_under_what_it_answers() -> None:
    async def story() -> None:
        async with members(2) as [author, other]:
            post = await author.submit()
            top = await author.comment(post, "top")
            sent = await asyncio.gather(*(other.comment(post, "below", top, key="one") for _ in range(4)))
            assert len(set(sent)) == 1
            page = await author.do("GET", f"/posts/{post}")
            assert [(number, under) for number, under, _ in shown(page["comments"])] == [(top, None), (sent[0], top)]
            assert page["post"]["comments"] == 2

    run(story)


def test_whoever_is_answered_gets_one_entry_and_one_more_unread() -> None:
    async def story() -> None:
        async with members(3) as [author, other, third]:
            post = await author.submit()
            top = await other.comment(post, "to the author")
            below = await third.comment(post, "to the other", top)
            own = await author.comment(post, "to myself")

            async def check() -> None:
                inbox, others = await author.do("GET", "/inbox"), await other.do("GET", "/inbox")
                assert [(e["kind"], e["source"], e["sender"], e["read"]) for e in inbox["entries"]] == [
                    ("reply", top, other.name, False)
                ]
                assert [(e["source"], e["post"], e["sender"]) for e in others["entries"]] == [(below, post, third.name)]
                assert (inbox["unread"], others["unread"]) == (1, 1)

            await eventually(check)
            await asyncio.sleep(1.0)
            await check()
            assert own not in [e["source"] for e in (await author.do("GET", "/inbox"))["entries"]]
            (entry,) = (await author.do("GET", "/inbox"))["entries"]
            assert (await other.do("POST", "/inbox/read", {"entries": [entry["id"]]}))["unread"] == 1
            assert (await author.do("POST", "/inbox/read", {"entries": [entry["id"]]}))["unread"] == 0
            inbox = await author.do("GET", "/inbox")
            assert (inbox["unread"], [e["read"] for e in inbox["entries"]]) == (0, [True])

    run(story)


def test_a_message_sent_twice_with_one_key_arrives_once() -> None:
    async def story() -> None:
        async with members(2) as [writer, reader]:
            letter = {"to": reader.name, "body": "Are you **there**?", "key": "hello"}
            first, second = await asyncio.gather(*(writer.do("POST", "/messages", letter) for _ in range(2)))
            assert first["id"] == second["id"]
            inbox = await reader.do("GET", "/inbox")
            assert [(e["kind"], e["sender"]) for e in inbox["entries"]] == [("message", writer.name)]
            assert inbox["unread"] == (await reader.do("GET", "/me"))["unread"] == 1

    run(story)


def test_a_post_submitted_four_times_at_once_with_one_key_is_one_post() -> None:
    async def story() -> None:
        async with members(1) as [author]:
            sent = await asyncio.gather(*(author.submit("Only once", key="once") for _ in range(4)))
            assert len(set(sent)) == 1
            assert [p["id"] for p in (await author.do("GET", f"/u/{author.name}"))["posts"]] == [sent[0]]
            listed = [p["id"] for p in (await author.do("GET", f"/c/{QUIET}"))["posts"]]
            assert listed.count(sent[0]) == 1

    run(story)


def test_pages_of_a_community_hold_still_while_posts_are_added() -> None:
    async def story() -> None:
        async with members(1) as [author]:
            newest = await author.submit()
            whole = [p["id"] for p in await author.walk(f"/c/{QUIET}", "posts", size=50, pages=4)]
            seen: list[int] = []
            after: dict[str, int] = {}
            while len(seen) < 105:
                page = await author.do("GET", f"/c/{QUIET}", size=7, **after)
                assert all(p["community"] == QUIET for p in page["posts"])
                seen += [p["id"] for p in page["posts"]]
                after = {"after": page["next"]}
                await author.submit()
            # The first page may show what others have posted since, before the newest that is known.
            old = [number for number in seen if number <= newest]
            assert old == whole[whole.index(newest) :][: len(old)]
            assert all(a > b for a, b in itertools.pairwise(seen))

    run(story)


def test_every_entry_is_on_exactly_one_page() -> None:
    async def story() -> None:
        async with members(1) as [author]:
            posts = [await author.submit(f"Number {n}") for n in range(23)]
            tops = [await author.comment(posts[0], f"top {n}") for n in range(23)]
            replies = {top: await author.comment(posts[0], "below", top) for top in tops[::5]}
            assert [p["id"] for p in await author.walk(f"/u/{author.name}/posts", "posts", size=5)] == posts[::-1]
            found = [c["id"] for c in await author.walk(f"/u/{author.name}/comments", "comments", size=7)]
            assert found == sorted([*tops, *replies.values()], reverse=True)
            thread = shown(await author.walk(f"/posts/{posts[0]}", "comments", size=10))
            assert [number for number, under, _ in thread if under is None] == tops[::-1]
            assert {number: under for number, under, _ in thread if under} == {reply: top for top, reply in replies.items()}

    run(story)


def test_a_new_post_is_found_by_its_words_within_seconds() -> None:
    async def story() -> None:
        async with members(1) as [author]:
            word = "zebra" + "".join(random.choices("bcdfghjklm", k=10))
            post = await author.submit(f"About {word}", "with a body")

            async def check() -> None:
                found = await author.do("GET", "/search", q=word)
                assert ([p["id"] for p in found["posts"]], found["found"]) == ([post], 1)

            await eventually(check, 4.0)

    run(story)


def test_signing_out_ends_that_session_and_no_other() -> None:
    async def story() -> None:
        async with members(1) as [member], httpx.AsyncClient(base_url=PROJECT.url, timeout=20.0) as elsewhere:
            who = {"name": member.name.upper(), "password": PASSWORD}
            assert (await elsewhere.post("/login", json=who)).json()["user"] == member.name
            kept = {"Cookie": f"session={member.http.cookies['session']}"}
            await member.do("POST", "/logout")
            async with httpx.AsyncClient(base_url=PROJECT.url, timeout=20.0, headers=kept) as thief:
                assert (await thief.get("/me")).status_code == 401
                assert (await thief.get("/")).json()["user"] is None
            assert (await elsewhere.get("/me")).json()["user"] == member.name
            assert (await elsewhere.post("/login", json={**who, "password": PASSWORD + "!"})).status_code == 401

    run(story)


def test_of_several_who_register_a_name_at_once_one_gets_it() -> None:
    async def story() -> None:
        name = f"t-{secrets.token_hex(6)}"
        async with httpx.AsyncClient(base_url=PROJECT.url, timeout=20.0) as http:
            spelt = (name, name.upper(), name, name.upper())
            answers = await asyncio.gather(*(http.post("/register", json={"name": n, "password": PASSWORD}) for n in spelt))
        assert sorted(a.status_code for a in answers) == [201, 409, 409, 409]

    run(story)


class Harmless(HTMLParser):
    """Fails at anything in HTML but the few tags that text may have."""

    TAGS = frozenset(("p", "br", "em", "strong", "code", "pre", "ul", "li", "blockquote", "a"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.TAGS
        if tag == "a":
            given = dict(attrs)
            assert set(given) <= {"href", "rel"}
            assert (given["href"] or "").startswith(("http://", "https://", "/c/", "/u/"))
        else:
            assert not attrs


HOSTILE = (
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "[click](javascript:alert(1)) [too](data:text/html,x) [and](//evil.example)",
    '[a](https://example.org/"onmouseover="alert(1))',
    "**<b onclick=x>** *<i>* `<u>` ```<iframe>```",
    "[**[x](https://a.example)**](https://b.example) u/<script> c/<script>",
    "> <style>\n- <svg/onload=x>",
    "\u202e\ufeff&lt;script&gt;&#60;script&#62;",
    "*" * 3000 + "[" * 3000 + "`" * 2999,
)


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_shown_and_does_nothing(text: str) -> None:
    async def story() -> None:
        async with members(2) as [author, other]:
            post = await author.submit(text[:200], text)
            comment = await other.comment(post, text)
            thread = await author.do("GET", f"/posts/{post}")
            pieces = [thread["post"]["html"], thread["comments"][0]["html"]]
            listed = (await author.do("GET", f"/u/{author.name}"))["posts"] + (await author.do("GET", f"/c/{QUIET}"))["posts"]
            pieces += [each["html"] for each in listed]

            async def arrived() -> None:
                (entry,) = (await author.do("GET", "/inbox"))["entries"]
                assert entry["source"] == comment
                pieces.append(entry["html"])

            await eventually(arrived)
            for piece in pieces:
                Harmless().feed(piece)
            assert "&lt;" in pieces[0] or "<" not in text

    run(story)


NONSENSE = [
    ("GET", "/nowhere", b""),
    ("GET", "/c/nowhere", b""),
    ("GET", "/posts/999999999", b""),
    ("GET", "/posts/99999999999999999999999", b""),
    ("GET", "/posts/0", b""),
    ("GET", "/u/nobody-at-all", b""),
    ("GET", "/u/%00", b""),
    ("GET", "/?after=-1", b""),
    ("GET", "/?size=1000", b""),
    ("GET", f"/c/{QUIET}?after=x", b""),
    ("DELETE", "/posts", b""),
    ("POST", "/posts", b""),
    ("POST", "/posts", b"[1]"),
    ("POST", "/posts", b"\xff"),
    ("POST", "/posts", b'{"community": "newcomers", "title": "t"}'),
    ("POST", "/posts", b'{"community": "nowhere", "title": "t", "body": "b"}'),
    ("POST", "/posts", b'{"community": "newcomers", "title": " ", "body": "b"}'),
    ("POST", "/posts", b'{"community": "newcomers", "title": 7, "body": "b"}'),
    ("POST", "/posts", b'{"community": "newcomers", "title": "\\u0000", "body": "b"}'),
    ("POST", "/posts", b'{"community": "newcomers", "title": "\\ud800", "body": "b"}'),
    ("POST", "/posts", b'{"community": "\\ud800", "title": "t", "body": "b"}'),
    ("POST", "/posts", b'{"community": "newcomers", "title": "t", "body": "b", "key": 5}'),
    ("POST", "/posts", b'{"community": "newcomers", "title": "t", "body": "%s"}' % (b"b" * 10_001)),
    ("POST", "/posts/60000/comments", b'{"body": ""}'),
    ("POST", "/posts/60000/comments", b'{"body": "b", "parent": "one"}'),
    ("POST", "/posts/60000/comments", b'{"body": "b", "parent": 99999999999999999999}'),
    ("POST", "/posts/60000/comments", b'{"body": "b", "parent": 1}'),
    ("POST", "/posts/999999999/comments", b'{"body": "b"}'),
    ("PUT", "/posts/60000/vote", b'{"value": 2}'),
    ("PUT", "/posts/60000/vote", b'{"value": true}'),
    ("PUT", "/posts/60000/vote", b'{"value": "up"}'),
    ("PUT", "/posts/999999999/vote", b'{"value": 1}'),
    ("PUT", "/comments/999999999/vote", b'{"value": 1}'),
    ("POST", "/inbox/read", b'{"entries": 5}'),
    ("POST", "/inbox/read", b'{"entries": ["a"]}'),
    ("POST", "/messages", b'{"to": "nobody-at-all", "body": "b"}'),
    ("POST", "/register", b'{"name": "a b", "password": "long enough"}'),
    ("POST", "/register", b'{"name": "somebody-new", "password": "short"}'),
    ("POST", "/register", b'{"name": "somebody-new", "password": "\\ud800aaaaaaaa"}'),
    ("POST", "/login", b'{"name": "otter12", "password": "wrong"}'),
    ("POST", "/login", b'{"name": "otter12"}'),
]


def test_what_makes_no_sense_is_refused_in_words() -> None:
    async def story() -> None:
        async with members(1) as [member]:
            for method, path, body in NONSENSE:
                answer = await member.http.request(method, path, content=body)
                assert 400 <= answer.status_code < 500, f"{method} {path} {body[:80]!r}: {answer.status_code} {answer.text}"
                assert answer.json()["error"], (method, path)

    run(story)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/posts"),
        ("POST", "/posts/60000/comments"),
        ("PUT", "/posts/60000/vote"),
        ("PUT", "/comments/1/vote"),
        ("GET", "/inbox"),
        ("POST", "/inbox/read"),
        ("POST", "/messages"),
        ("GET", "/me"),
    ],
)
def test_strangers_can_do_nothing_that_needs_an_account(method: str, path: str) -> None:
    answer = httpx.request(method, PROJECT.url + path, json={}, timeout=20.0)
    assert (answer.status_code, answer.json()["error"]) == (401, "sign in first")


@dataclass
class Arena:
    """One post with one comment, by the same author; what a few members did there, as far as it was acknowledged."""

    author: Member
    post: int
    comment: int
    until: float = float("inf")
    comments: dict[int, tuple[int | None, str]] = field(default_factory=dict)
    posts: dict[int, str] = field(default_factory=dict)
    votes: dict[tuple[str, str], int] = field(default_factory=dict)

    async def patiently(self, member: Member, method: str, path: str, body: dict[str, Any]) -> Any:
        """Sent again, just as it was, until it is acknowledged."""
        for _ in range(60):
            try:
                answer = await member.http.request(method, path, json=body, timeout=5.0)
            except httpx.TransportError:
                await asyncio.sleep(0.5)
                continue
            if answer.status_code < 300:
                return answer.json()
            assert answer.status_code >= 500, f"{method} {path}: {answer.status_code} {answer.text}"
            await asyncio.sleep(0.5)
        raise AssertionError(f"{method} {path} is still not acknowledged after {60 * 0.5:.0f} s and more")

    async def take_part(self, member: Member) -> None:
        """Comment, answer, vote and post until the time is up."""
        for turn in itertools.count():
            if time.monotonic() > self.until:
                return
            parent = self.comment if turn % 2 else None
            word = f"w{secrets.token_hex(8)}"
            body = {"body": word, "parent": parent, "key": word}
            written = await self.patiently(member, "POST", f"/posts/{self.post}/comments", body)
            assert int(written["id"]) not in self.comments
            self.comments[int(written["id"])] = (parent, word)
            for kind, item in (("post", self.post), ("comment", self.comment)):
                value = random.choice((-1, 0, 1))
                await self.patiently(member, "PUT", f"/{kind}s/{item}/vote", {"value": value})
                self.votes[member.name, kind] = value
            if turn % 3 == 0:
                draft = {"community": QUIET, "title": f"During {word}", "body": word, "key": word}
                self.posts[int((await self.patiently(member, "POST", "/posts", draft))["id"])] = member.name
            await asyncio.sleep(0.2)

    def score(self, kind: str) -> int:
        return sum(value for (_, each), value in self.votes.items() if each == kind)

    async def adds_up(self, crowd: list[Member]) -> None:
        """Everything acknowledged is there once, scores are the votes cast, and whoever was answered knows of it."""
        page = await self.author.do("GET", f"/posts/{self.post}")
        found = shown(await self.author.walk(f"/posts/{self.post}", "comments", size=50))
        standing = {number: (under, comment["html"]) for number, under, comment in found}
        assert len(found) == len(standing) == page["post"]["comments"] == len(self.comments) + 1
        assert standing.pop(self.comment)[0] is None
        assert standing == {number: (parent, f"<p>{word}</p>") for number, (parent, word) in self.comments.items()}
        scores = page["post"]["score"], next(comment["score"] for number, _, comment in found if number == self.comment)
        assert scores == (self.score("post"), self.score("comment"))
        assert await self.author.karma() == sum(scores)
        entries = await self.author.walk("/inbox", "entries", size=50)
        assert Counter(e["source"] for e in entries) == Counter(list(self.comments))
        assert (await self.author.do("GET", "/inbox"))["unread"] == len(self.comments)
        for member in crowd:
            posts = await member.walk(f"/u/{member.name}/posts", "posts", size=50)
            assert [p["id"] for p in posts] == sorted((n for n, name in self.posts.items() if name == member.name), reverse=True)
        number, word = next((n, w) for n, (_, w) in self.comments.items())
        assert number and (await self.author.do("GET", "/search", q=f"During {word}"))["found"] == 1


@contextmanager
def container_of(service: str) -> Iterator[Container]:
    """The running container of a service, to do something to."""
    with engine() as client:
        (found,) = (c for c in containers(client, PROJECT.name) if c.labels[SERVICE_LABEL] == service)
        yield found


def restart(service: str, gently: bool) -> None:
    """Stop a service's container, or kill it, and start it again."""
    with container_of(service) as container:
        if gently:
            container.stop(timeout=3)
        else:
            container.kill()
        container.start()


@contextmanager
def without(service: str) -> Iterator[None]:
    """A service's container is stopped meanwhile."""
    with container_of(service) as container:
        container.stop(timeout=3)
        try:
            yield
        finally:
            container.start()


@contextmanager
def queues() -> Iterator[Any]:
    """The store of the queues."""
    with redis.Redis(port=PROJECT.ports["redis"], decode_responses=True, socket_timeout=5.0) as store:
        yield store


async def drained() -> None:
    """No message is left."""
    with queues() as store:
        assert [store.xlen(queue) for queue in QUEUES] == [0] * len(QUEUES)


def test_votes_that_arrive_again_and_in_another_order_change_nothing() -> None:
    async def story() -> None:
        async with members(2) as [author, member]:
            post = await author.submit()
            with without("votes"), queues() as store:
                for value in (1, 0, -1):
                    await member.vote("post", post, value)
                sent = [fields for _, fields in store.xrange("queue:votes")]
                for fields in (sent[::-1] + sent) * 2:
                    store.xadd("queue:votes", fields)
                page = await member.do("GET", f"/posts/{post}")
                assert (page["post"]["vote"], page["post"]["score"]) == (-1, 0)
            await eventually(drained, RECONCILED)
            assert (await member.do("GET", f"/posts/{post}"))["post"]["score"] == -1
            assert await author.karma() == -1

    run(story)


def test_what_a_queue_has_forgotten_is_sent_again() -> None:
    async def story() -> None:
        async with members(2) as [author, other]:
            post = await author.submit()
            with without("votes"), without("inbox"), queues() as store:
                await other.vote("post", post, 1)
                comment = await other.comment(post)
                assert store.delete(*QUEUES) == len(QUEUES)

            async def check() -> None:
                assert (await author.do("GET", f"/posts/{post}"))["post"]["score"] == 1
                assert [e["source"] for e in (await author.do("GET", "/inbox"))["entries"]] == [comment]

            await eventually(check, RECONCILED)

    run(story)


@pytest.mark.parametrize(
    "gently", [pytest.param(True, id="stopped", marks=pytest.mark.thorough), pytest.param(False, id="killed")]
)
@pytest.mark.parametrize("service", ["web", "votes", "search", "inbox", "postgres", "redis"])
def test_after_a_restart_in_the_middle_of_things_everything_adds_up(service: str, gently: bool) -> None:
    async def story() -> None:
        async with members(5) as [author, *crowd]:
            post = await author.submit("An arena")
            arena = Arena(author, post, await author.comment(post, "To begin with"))
            busy = [asyncio.create_task(arena.take_part(member)) for member in crowd]
            await asyncio.sleep(2.0)
            await asyncio.to_thread(restart, service, gently)
            arena.until = time.monotonic() + 3.0
            await asyncio.gather(*busy)
            await eventually(lambda: arena.adds_up(crowd), RECONCILED)

            await eventually(drained)
            assert len(arena.comments) > len(crowd)

    run(story)
