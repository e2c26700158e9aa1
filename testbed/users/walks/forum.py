"""A member's ways through the forum, one function a feature."""

from __future__ import annotations

import asyncio
import itertools
import math
import re
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from testbed.users.person import NotReachedError, Seen, seen
from testbed.users.visitors.forum import QUIET, SESSION_VISITS, TITLES, Mine, Visitor, rare_word

COMMUNITIES = ("gardening", "baking", "chess", "hiking", "history", "databases", "trains", "tennis", "climbing", "pets")
WORDS = ("timber", "harvest", "bread", "solder", "grammar", "honey")
COUNTED_SECONDS = 3.0
"""By then a vote shows in its author's karma."""


def _refused(user: Visitor, answer: httpx.Response) -> Seen:
    """An error page; to be signed out without having done so is to be forgotten."""
    if answer.status_code == 401:
        user.signed_in = False
        return Seen(answer, "lost_state")
    return Seen(answer)


def _flat(comments: list[Any], parent: int | None = None) -> list[tuple[int, int | None, str]]:
    """A tree's comments with what they are shown under; one under a wrong parent is told by its own word."""
    found = []
    for comment in comments:
        shown_under = parent if comment["parent"] == parent else -1
        found += [(comment["id"], shown_under, comment["html"]), *_flat(comment["replies"], comment["id"])]
    return found


def _title(page: Any) -> str:
    return str(page["title"]).lower()


async def front_page(user: Visitor) -> Seen:
    """A full page of posts that people like, the hottest first."""

    def wrong(page: Any) -> str:
        if len(page["posts"]) < 25 or not page["communities"]:
            return "missing_data"
        heat = [math.log10(max(p["score"], 1)) + p["at"] / 45_000 for p in page["posts"]]
        cold = any(p["score"] < 2 for p in page["posts"])
        return "wrong_data" if cold or any(b > a + 1e-6 for a, b in itertools.pairwise(heat)) else ""

    return seen(await user.ask("GET", "/"), wrong, lambda page: _title(page["posts"][0]) if page["posts"] else "")


async def community(user: Visitor) -> Seen:
    """One community's posts and no others, the newest first; now and then the page after it."""
    name = secrets.choice(COMMUNITIES)
    after = user.next_page.pop(name, None)
    answer = await user.ask("GET", f"/c/{name}", params={"after": after} if after else {})

    def wrong(page: Any) -> str:
        posts = page["posts"]
        if not posts:
            return "missing_data"
        if after is None:
            user.next_page[name] = page["next"]
        numbers = [p["id"] for p in posts]
        in_order = all(a > b for a, b in itertools.pairwise([after or numbers[0] + 1, *numbers]))
        ours = page["community"]["name"] == name and all(p["community"] == name for p in posts)
        return "" if ours and in_order else "wrong_data"

    return seen(answer, wrong, lambda page: _title(page["posts"][0]) if page["posts"] else "")


async def post(user: Visitor) -> Seen:
    """An old thread: the post as it has always been, with as many comments as it says, each under what it answers."""
    number = next(user.posts)
    answer = await user.ask("GET", f"/posts/{number}")

    def wrong(page: Any) -> str:
        about, comments = page["post"], _flat(page["comments"])
        known = user.known.setdefault(number, (about["title"], about["author"]))
        if about["id"] != number or known != (about["title"], about["author"]) or any(under == -1 for _, under, _ in comments):
            return "wrong_data"
        whole = about["html"] and all(text for _, _, text in comments)
        return "" if whole and len(comments) == about["comments"] else "missing_data"

    return seen(answer, wrong, lambda page: _title(page["post"]))


async def submit(user: Visitor) -> Seen:
    """A new post gets a page of its own with what was written, and is in its community's list."""
    await user.ready()
    title, word = secrets.choice(TITLES), rare_word()
    answer = await user.ask(
        "POST", "/posts", json={"community": QUIET, "title": title, "body": f"All about **{word}**.", "key": word}
    )
    if answer.status_code >= 400:
        return _refused(user, answer)
    number = answer.json()["id"]
    listed, page = await user.look(f"/c/{QUIET}"), await user.aside("GET", f"/posts/{number}")
    wrong = ""
    if listed and not any(p["id"] == number for p in listed["posts"]):
        wrong = "missing_data"
    if page is not None and page.status_code == 404:
        wrong = "lost_state"
    elif page is not None and page.status_code == 200:
        shown = page.json()["post"]
        right = (shown["title"], shown["author"], shown["community"]) == (title, user.name, QUIET)
        fresh = shown["age"] in ("just now", "1 minute ago")
        wrong = wrong if right and fresh and f"<strong>{word}</strong>" in shown["html"] else "wrong_data"
    return Seen(answer, wrong, title.lower())


async def comment(user: Visitor) -> Seen:
    """A comment or reply stands once in the thread, under what it answers, beside those written before."""
    await user.ready()
    if user.mine is None or len(user.mine.comments) >= 12:
        user.mine = await user.write_post()
    mine, word = user.mine, rare_word()
    # Without an answer nobody knows what stands there: the next visit begins another thread.
    user.mine = None
    parent = mine.comments[-1][0] if len(mine.comments) % 2 else None
    body = {"body": f"As for **{word}**", "parent": parent, "key": word}
    answer = await user.ask("POST", f"/posts/{mine.post}/comments", json=body)
    if answer.status_code >= 400:
        return _refused(user, answer)
    before, new = list(mine.comments), (int(answer.json()["id"]), parent, word)
    mine.comments.append(new)
    page = await user.look(f"/posts/{mine.post}")
    wrong = _thread_wrong(_flat(page["comments"]), before, new) if page else ""
    user.mine = None if wrong else mine
    return Seen(answer, wrong, mine.title.lower())


def _thread_wrong(
    shown: list[tuple[int, int | None, str]], before: list[tuple[int, int | None, str]], new: tuple[int, int | None, str]
) -> str:
    """What a member would call a thread in which these comments must stand."""
    numbers = [number for number, _, _ in shown]
    if new[0] not in numbers:
        return "missing_data"
    if any(number not in numbers for number, _, _ in before):
        return "lost_state"
    as_written = sorted(
        (number, parent, word in text) for (number, parent, text) in shown for word in [_word(number, [*before, new])]
    )
    return "" if as_written == sorted((number, parent, True) for number, parent, _ in [*before, new]) else "wrong_data"


def _word(number: int, written: list[tuple[int, int | None, str]]) -> str:
    return next((word for each, _, word in written if each == number), "\0")


async def vote(user: Visitor) -> Seen:
    """One's own vote shows at once, and the score follows it soon."""
    await user.ready()
    if user.mine is None:
        user.mine = await user.write_post()
    mine = user.mine
    value = secrets.choice([each for each in (-1, 0, 1) if each != mine.vote])
    answer = await user.ask("PUT", f"/posts/{mine.post}/vote", json={"value": value})
    if answer.status_code >= 400:
        return _refused(user, answer)
    at, cast, mine.vote = user.at, user.seconds, value
    last: list[Any] = []

    async def look() -> Seen | None:
        await asyncio.sleep(0.1)
        page = await user.look(f"/posts/{mine.post}")
        if page is None:
            return None
        last[:] = [page["post"]]
        return Seen(answer) if (page["post"]["vote"], page["post"]["score"]) == (value, value) else None

    wrong = ""
    try:
        await user.until(look, every=0.15)
    except TimeoutError:
        user.mine = None
        wrong = _vote_wrong(last[0], value) if last else ""
    user.at, user.seconds = at, cast + (0.0 if wrong or not last else user.seconds)
    return Seen(answer, wrong, mine.title.lower())


def _vote_wrong(post: Any, value: int) -> str:
    return "lost_state" if post["vote"] != value else "wrong_data"


async def login(user: Visitor) -> Seen:
    """Who has signed in is known on the next page."""
    if not user.is_member:
        await user.sign_in()
    user.client.cookies.clear()
    answer = await user.ask("POST", "/login", json={"name": user.name, "password": user.password})
    if answer.status_code >= 400:
        return Seen(answer)
    page = await user.aside("GET", "/me")
    known = page is None or page.status_code >= 500 or (page.status_code == 200 and page.json()["user"] == user.name)
    return Seen(answer, "" if known else "lost_state")


async def search(user: Visitor) -> Seen:
    """A common word finds posts that have it; a rare one finds the post that was written with it."""
    if secrets.randbelow(2):
        return await _search_common(user)
    try:
        if user.mine is None or user.turns(SESSION_VISITS):
            await user.ready()
            user.mine = await user.write_post()
            await asyncio.sleep(1.0)
    except NotReachedError:
        return await _search_common(user)
    mine = user.mine
    answer = await user.ask("GET", "/search", params={"q": mine.word})

    def wrong(page: Any) -> str:
        numbers = [p["id"] for p in page["posts"]]
        if mine.post not in numbers:
            return "missing_data"
        return "" if numbers == [mine.post] and page["posts"][0]["title"] == mine.title else "wrong_data"

    return seen(answer, wrong, lambda _: mine.title.lower())


async def _search_common(user: Visitor) -> Seen:
    word = secrets.choice(WORDS)

    def wrong(page: Any) -> str:
        if not page["posts"]:
            return "missing_data"
        return "" if all(re.search(word, f"{p['title']} {p['html']}", re.IGNORECASE) for p in page["posts"]) else "wrong_data"

    return seen(await user.ask("GET", "/search", params={"q": word}), wrong, lambda _: word)


async def profile(user: Visitor) -> Seen:
    """One's own page has the post and the comment that were written, and the karma that their scores come to."""
    await user.ready()
    if user.mine is None:
        user.mine = await _with_karma(user)
    mine = user.mine
    answer = await user.ask("GET", f"/u/{user.name}")
    if answer.status_code >= 400:
        return _refused(user, answer)

    def wrong(page: Any) -> str:
        if page["user"] != user.name:
            user.signed_in = False
            return "lost_state"
        wrote = [p["id"] for p in page["posts"]] + [c["id"] for c in page["comments"]]
        if mine.post not in [p["id"] for p in page["posts"]] or mine.comments[0][0] not in wrote:
            return "missing_data"
        ours = all(p["author"] == user.name for p in page["posts"]) and page["member"]["name"] == user.name
        score = next(p["score"] for p in page["posts"] if p["id"] == mine.post)
        earned = sum(written["score"] for written in page["posts"] + page["comments"])
        adds_up = page["member"]["karma"] == earned or len(page["posts"]) >= 10
        return "" if ours and adds_up and score == mine.vote else "wrong_data"

    return seen(answer, wrong)


async def _with_karma(user: Visitor) -> Mine:
    """A post with a comment, voted up. Raises ``NotReachedError``."""
    mine = await user.write_post()
    word = rare_word()
    answered = await user.reach("POST", f"/posts/{mine.post}/comments", {"body": f"Also **{word}**"})
    mine.comments.append((int(answered["id"]), None, word))
    await user.reach("PUT", f"/posts/{mine.post}/vote", {"value": 1})
    await asyncio.sleep(COUNTED_SECONDS)
    mine.vote = 1
    return mine


async def inbox(user: Visitor) -> Seen:
    """A friend's reply arrives, is counted as unread, and no longer is once it was read."""
    await user.ready()
    if user.mine is None:
        user.mine = await user.write_post()
    user.friend = user.friend or Visitor(str(user.client.base_url), user.number)
    friend, mine = user.friend, user.mine
    await friend.ready()
    try:
        written = await friend.reach("POST", f"/posts/{mine.post}/comments", {"body": f"Same here, **{rare_word()}**"})
    except NotReachedError:
        friend.signed_in = False
        raise
    looked: list[httpx.Response] = []

    async def look() -> Seen | None:
        answer = await user.client.get("/inbox")
        if answer.status_code >= 400:
            return _refused(user, answer)
        looked[:] = [answer]
        page = answer.json()
        entries = [e for e in page["entries"] if (e["kind"], e["source"]) == ("reply", written["id"])]
        return Seen(answer, _entry_wrong(entries, page, friend.name, mine.post), mine.title.lower()) if entries else None

    try:
        found = await user.until(look, every=0.15)
    except TimeoutError:
        if not looked:
            raise
        return Seen(looked[0], "missing_data", mine.title.lower())
    if found.answer.status_code >= 400 or found.wrong:
        return found
    read = await user.aside("POST", "/inbox/read", {})
    still_unread = read is not None and read.status_code == 200 and read.json()["unread"]
    return Seen(found.answer, "wrong_data" if still_unread else "", found.item)


def _entry_wrong(entries: list[Any], page: Any, sender: str, post: int) -> str:
    unread = sum(not e["read"] for e in page["entries"])
    right = (entries[0]["sender"], entries[0]["post"], entries[0]["read"]) == (sender, post, False)
    counted = page["unread"] == unread or (page["unread"] > unread and len(page["entries"]) == 20)
    return "" if len(entries) == 1 and right and counted else "wrong_data"


FEATURES: dict[str, Callable[[Visitor], Awaitable[Seen]]] = {
    f.__name__: f for f in (front_page, community, post, submit, comment, vote, login, search, profile, inbox)
}
