"""Probe users against a forum that misbehaves: each thing gets the name that a person would give it."""

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
from testbed.users.visitors.forum import Visitor
from testbed.users.walks.forum import FEATURES, WORDS

Change = Callable[[Any], None]
CELLS = Path(__file__).parents[2] / "testbed" / "reports" / "cells.json"
OPEN = ("POST /login", "POST /register")


class Forum:
    """A small forum in memory. ``broken`` gives steps another status, ``twisted`` changes their pages on the way out."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("")
        self.broken: dict[str, int] = {}
        self.twisted: dict[str, Change] = {}
        self.tokens = itertools.count()
        self.sessions: dict[str, str] = {}
        self.posts: dict[int, dict[str, Any]] = {}
        self.inbox: dict[str, list[dict[str, Any]]] = {}
        self.counted = True
        """Whether votes reach the score."""
        server.expect_request(re.compile("/.*")).respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        step = f"{request.method} {re.sub('[0-9]+', '0', request.path)}"
        if step in self.broken:
            return Response(json.dumps({"error": "something went wrong"}), self.broken[step])
        user = self.sessions.get(request.cookies.get("session", ""))
        if user is None and step not in OPEN and (request.method != "GET" or request.path in ("/inbox", "/me")):
            return Response(json.dumps({"error": "sign in first"}), 401)
        body = request.get_json(force=True) if request.method in ("POST", "PUT") else {}
        page = {**self._page(step, request, user or "", body), "user": user}
        self.twisted.get(step, lambda _: None)(page)
        response = Response(json.dumps(page), 200)
        if step in OPEN:
            token = f"s{next(self.tokens)}"
            self.sessions[token] = body["name"]
            response.set_cookie("session", token)
        return response

    def _page(self, step: str, request: Request, user: str, body: dict[str, Any]) -> dict[str, Any]:
        number = int(re.sub("[^0-9]", "", request.path) or 0)
        match step:
            case "GET /":
                posts = [self._post(50 - n, "gardening", "x", score=90 - n) for n in range(25)]
                return {"posts": posts, "communities": ["gardening"]}
            case "POST /posts":
                number = 60_000 + len(self.posts)
                self.posts[number] = self._post(number, "newcomers", user, body["title"], body["body"])
                return {"id": number}
            case "GET /posts/0":
                found = self.posts.setdefault(number, self._post(number, "pets", "somebody"))
                return {"post": found, "comments": found["thread"], "next": None}
            case "POST /posts/0/comments":
                return {"id": self._comment(number, user, body)}
            case "PUT /posts/0/vote":
                self.posts[number]["vote"] = body["value"]
                if self.counted:
                    self.posts[number]["score"] = body["value"]
                return {"vote": body["value"]}
            case "GET /search":
                word = request.args["q"]
                posts = [p for p in self.posts.values() if word in p["html"]]
                return {"posts": posts or [self._post(1, "pets", "x", f"On {word}")] if word in WORDS else posts}
            case "GET /inbox":
                entries = self.inbox.get(user, [])[::-1]
                return {"entries": entries, "unread": sum(not e["read"] for e in entries)}
            case "POST /inbox/read":
                for entry in self.inbox.get(user, []):
                    entry["read"] = True
                return {"unread": 0}
        if request.path.startswith("/c/"):
            name = request.path[3:]
            posts = [p for p in self.posts.values() if p["community"] == name][::-1]
            posts = posts or [self._post(n, name, "x") for n in (9, 8, 7)]
            return {"community": {"name": name}, "posts": posts, "next": None}
        if request.path.startswith("/u/"):
            posts = [p for p in self.posts.values() if p["author"] == user]
            comments = [c for p in posts for c in p["thread"] if c["author"] == user]
            return {"member": {"name": user, "karma": sum(p["score"] for p in posts)}, "posts": posts, "comments": comments}
        return {}

    def _post(
        self, number: int, community: str, author: str, title: str = "A title", body: str = "b", score: int = 0
    ) -> dict[str, Any]:
        html = re.sub(r"\*\*(.*?)\*\*", r"<strong>\1</strong>", body)
        about = {"id": number, "community": community, "author": author, "title": title, "html": html, "age": "just now"}
        return {**about, "score": score, "at": 1.8e9, "vote": 0, "comments": 0, "thread": []}

    def _comment(self, post: int, author: str, body: dict[str, Any]) -> int:
        about = self.posts[post]
        number: int = 1000 * (post - 59_999) + about["comments"]
        comment = {"id": number, "parent": body.get("parent"), "html": body["body"], "author": author, "score": 0, "replies": []}
        above = [about["thread"], *(c["replies"] for c in about["thread"] if c["id"] == body.get("parent"))][-1]
        above.append(comment)
        about["comments"] += 1
        if author != about["author"]:
            entry = {"kind": "reply", "source": number, "sender": author, "post": post, "read": False}
            self.inbox.setdefault(about["author"], []).append(entry)
        return number


@pytest.fixture
def forum(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Forum:
    monkeypatch.setattr(person, "PATIENCE_SECONDS", 1.5)
    monkeypatch.setattr("testbed.users.walks.forum.COUNTED_SECONDS", 0.0)
    return Forum(httpserver)


def visits(forum: Forum, feature: str, *between: Callable[[], object]) -> list[Visit]:
    """A visit, and one more after each of these."""

    async def walk() -> list[Visit | None]:
        user = Visitor(forum.url)
        seen = [await visit(feature, FEATURES[feature], user)]
        for change in between:
            change()
            seen.append(await visit(feature, FEATURES[feature], user))
        await user.client.aclose()
        if user.friend:
            await user.friend.client.aclose()
        return seen

    return [seen for seen in asyncio.run(walk()) if seen is not None]


def outcomes(forum: Forum, feature: str, *between: Callable[[], object]) -> list[str]:
    return [seen.outcome for seen in visits(forum, feature, *between)]


@pytest.mark.parametrize("feature", FEATURES)
def test_a_forum_in_order_is_ok_again_and_again(forum: Forum, feature: str) -> None:
    assert outcomes(forum, feature, *[lambda: None] * 6) == ["ok"] * 7


def test_every_feature_of_the_corpus_has_its_walk() -> None:
    features = json.loads(CELLS.read_text())["features"]["forum"]
    assert set(FEATURES) == {name for name in features if not name.startswith("_")}


def reverse(page: Any) -> None:
    page["posts"].reverse()


def empty(page: Any) -> None:
    page["posts"] = []


def foreign(page: Any) -> None:
    page["posts"][0]["community"] = "elsewhere"


def too_few(page: Any) -> None:
    page["post"]["comments"] += 1


def without_thread(page: Any) -> None:
    page["comments"] = []


def long_ago(page: Any) -> None:
    page["post"]["age"] = "3 hours ago"


def by_another(page: Any) -> None:
    page["post"]["author"] = "another"


def doubled(page: Any) -> None:
    page["comments"] = page["comments"] * 2


def more_karma(page: Any) -> None:
    page["member"]["karma"] += 1


def one_more_unread(page: Any) -> None:
    page["unread"] += 1


def as_a_stranger(page: Any) -> None:
    page["user"] = None


def no_vote(page: Any) -> None:
    page["post"]["vote"] = 5


def no_entries(page: Any) -> None:
    page["entries"] = []


@pytest.mark.parametrize(
    ("feature", "step", "twist", "outcome"),
    [
        ("front_page", "GET /", empty, "missing_data"),
        ("front_page", "GET /", reverse, "wrong_data"),
        ("community", "GET /c/{}", empty, "missing_data"),
        ("community", "GET /c/{}", reverse, "wrong_data"),
        ("community", "GET /c/{}", foreign, "wrong_data"),
        ("post", "GET /posts/0", too_few, "missing_data"),
        ("submit", "GET /c/newcomers", empty, "missing_data"),
        ("submit", "GET /posts/0", by_another, "wrong_data"),
        ("submit", "GET /posts/0", long_ago, "wrong_data"),
        ("comment", "GET /posts/0", without_thread, "missing_data"),
        ("comment", "GET /posts/0", doubled, "wrong_data"),
        ("vote", "GET /posts/0", no_vote, "lost_state"),
        ("login", "GET /me", as_a_stranger, "lost_state"),
        ("profile", "GET /u/{}", empty, "missing_data"),
        ("profile", "GET /u/{}", more_karma, "wrong_data"),
        ("profile", "GET /u/{}", as_a_stranger, "lost_state"),
        ("inbox", "GET /inbox", one_more_unread, "wrong_data"),
        ("inbox", "GET /inbox", no_entries, "missing_data"),
    ],
)
def test_what_is_wrong_with_a_page_is_called_by_its_name(
    forum: Forum, monkeypatch: pytest.MonkeyPatch, feature: str, step: str, twist: Change, outcome: str
) -> None:
    monkeypatch.setattr("testbed.users.walks.forum.COMMUNITIES", ("pets",))
    names = itertools.chain(["juno-x"], itertools.repeat("vera-x"))
    monkeypatch.setattr("testbed.users.visitors.forum.new_name", lambda: next(names))
    first, second = outcomes(
        forum, feature, lambda: forum.twisted.update({step.format("pets" if "/c/" in step else "juno-x"): twist})
    )
    assert (first, second) == ("ok", outcome)


def test_a_score_that_does_not_follow_is_wrong_but_not_a_time_out(forum: Forum) -> None:
    assert outcomes(forum, "vote", lambda: setattr(forum, "counted", False)) == ["ok", "wrong_data"]


@pytest.mark.parametrize("feature", ["submit", "comment", "vote", "inbox"])
def test_who_is_signed_out_is_forgotten_once_and_signs_in_again(forum: Forum, feature: str) -> None:
    found = outcomes(forum, feature, forum.sessions.clear, lambda: None, lambda: None)
    assert found[0] == found[-1] == "ok"
    assert found.count("lost_state") == 1


def test_a_post_that_cannot_be_found_by_its_own_word_is_missing(forum: Forum) -> None:
    found = outcomes(forum, "search", *[lambda: forum.twisted.update({"GET /search": empty})] * 8)
    assert found == ["ok"] + ["missing_data"] * 8


def test_an_earlier_comment_that_is_gone_is_lost(forum: Forum) -> None:
    def forget() -> None:
        for post in forum.posts.values():
            post["thread"].clear()

    assert outcomes(forum, "comment", lambda: None, forget)[:2] == ["ok", "ok"]
    assert outcomes(forum, "comment", forget)[1] == "lost_state"


@pytest.mark.parametrize(
    ("feature", "step"),
    [
        ("front_page", "GET /"),
        ("post", "GET /posts/0"),
        ("submit", "POST /posts"),
        ("vote", "PUT /posts/0/vote"),
        ("login", "POST /login"),
        ("search", "GET /search"),
        ("inbox", "GET /inbox"),
    ],
)
@pytest.mark.parametrize(("status", "outcome"), [(500, "error"), (503, "error"), (504, "timeout")])
def test_an_error_page_is_an_error_and_a_gateways_time_out_a_time_out(
    forum: Forum, feature: str, step: str, status: int, outcome: str
) -> None:
    first, second = visits(forum, feature, lambda: forum.broken.update({step: status}))
    assert (first.outcome, second.outcome, second.status) == ("ok", outcome, status)


@pytest.mark.parametrize(("feature", "step"), [("submit", "GET /posts/0"), ("comment", "GET /posts/0"), ("login", "GET /me")])
def test_a_page_on_the_side_that_does_not_load_is_for_its_own_visitor_to_note(forum: Forum, feature: str, step: str) -> None:
    assert outcomes(forum, feature, lambda: forum.broken.update({step: 500})) == ["ok", "ok"]


def test_a_post_whose_page_does_not_exist_is_lost(forum: Forum) -> None:
    assert outcomes(forum, "submit", lambda: forum.broken.update({"GET /posts/0": 404})) == ["ok", "lost_state"]


def test_a_comment_that_was_written_though_its_answer_was_lost_makes_nothing_wrong(forum: Forum) -> None:
    def lose(page: Any) -> None:
        time.sleep(2.0)

    found = outcomes(
        forum, "comment", lambda: forum.twisted.update({"POST /posts/0/comments": lose}), forum.twisted.clear, lambda: None
    )
    assert found == ["ok", "timeout", "ok", "ok"]


def test_who_was_registered_though_the_answer_was_lost_signs_in(forum: Forum) -> None:
    forum.broken["POST /register"] = 409
    assert outcomes(forum, "vote") == outcomes(forum, "login") == ["ok"]


def test_nothing_is_noted_of_a_feature_that_could_not_be_reached(forum: Forum) -> None:
    forum.broken["POST /posts"] = 500
    assert visits(forum, "vote") == visits(forum, "comment") == visits(forum, "inbox") == []


def test_the_time_of_a_vote_includes_the_wait_for_the_score(forum: Forum) -> None:
    def late() -> None:
        since = time.monotonic()

        def old_score(page: Any) -> None:
            if time.monotonic() - since < 0.4:
                page["post"] = {**page["post"], "score": 7}

        forum.twisted["GET /posts/0"] = old_score

    first, second = visits(forum, "vote", late)
    assert first.outcome == second.outcome == "ok"
    assert second.seconds > 0.4
