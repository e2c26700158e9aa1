"""Probe users against a site that misbehaves: each thing gets the name that a person would give it."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from testbed.users import person
from testbed.users.notes import Visit, read
from testbed.users.person import Person, Seen, seen
from testbed.users.probes import visit


async def board(user: Person) -> Seen:
    """A page whose list must not be empty; there is a step on the way to it."""
    await user.reach("POST", "/door")
    return seen(
        await user.ask("GET", "/board"),
        lambda page: "" if page["lines"] else "missing_data",
        lambda page: page["lines"][0] if page["lines"] else "",
    )


async def parcel(user: Person) -> Seen:
    """Something that comes later."""

    async def look() -> Seen | None:
        answer = await user.client.get("/parcel")
        return seen(answer, lambda _: "") if answer.status_code != 404 else None

    return await user.until(look, every=0.05)


class Site:
    """Two pages with switches for what can be wrong with them."""

    def __init__(self, server: HTTPServer) -> None:
        self.url = server.url_for("")
        self.status = {"/door": 200, "/board": 200, "/parcel": 200}
        self.body = '{"lines": ["oak lamp"]}'
        self.seconds = {"/door": 0.0, "/board": 0.0, "/parcel": 0.0}
        self.looks_before_it_comes = 0
        for path in self.status:
            server.expect_request(path).respond_with_handler(self._answer)

    def _answer(self, request: Request) -> Response:
        time.sleep(self.seconds[request.path])
        if request.path == "/parcel" and self.looks_before_it_comes > 0:
            self.looks_before_it_comes -= 1
            return Response("{}", 404)
        return Response(self.body, self.status[request.path])

    def visited(self, go: Callable[[Person], Awaitable[Seen]] = board) -> Visit | None:
        async def walk() -> Visit | None:
            user = Person(self.url)
            try:
                return await visit("board", go, user)
            finally:
                await user.client.aclose()

        return asyncio.run(walk())

    def noted(self, go: Callable[[Person], Awaitable[Seen]] = board) -> Visit:
        found = self.visited(go)
        assert found is not None and found.feature == "board"
        return found


@pytest.fixture
def site(httpserver: HTTPServer) -> Site:
    return Site(httpserver)


def test_a_page_in_order_is_ok_and_what_it_was_about_is_remembered(site: Site) -> None:
    found = site.noted()
    assert (found.outcome, found.status, found.detail) == ("ok", 200, "oak lamp")


def test_what_is_not_there_is_missing(site: Site) -> None:
    site.body = '{"lines": []}'
    assert site.noted().outcome == "missing_data"


@pytest.mark.parametrize("body", ["<html>", "{}", "[]", "3"])
def test_a_page_that_makes_no_sense_is_wrong(site: Site, body: str) -> None:
    async def go(user: Person) -> Seen:
        return seen(await user.ask("GET", "/board"), lambda page: "" if page["lines"] else "missing_data")

    site.body = body
    assert site.noted(go).outcome == "wrong_data"


@pytest.mark.parametrize(
    ("status", "expected"), [(504, "timeout"), (502, "error"), (500, "error"), (404, "error"), (429, "error")]
)
def test_an_error_page_is_an_error_and_a_gateways_time_out_a_time_out(site: Site, status: int, expected: str) -> None:
    site.status["/board"] = status
    found = site.noted()
    assert (found.outcome, found.status) == (expected, status)


@pytest.mark.parametrize("status", [500, 401])
def test_nothing_is_noted_of_a_feature_that_could_not_be_reached(site: Site, status: int) -> None:
    site.status["/door"] = status
    assert site.visited() is None


def test_only_the_feature_itself_is_timed(site: Site) -> None:
    site.seconds = {"/door": 0.5, "/board": 0.2, "/parcel": 0.0}
    assert 0.2 <= site.noted().seconds < 0.5


def test_patience_ends(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person, "PATIENCE_SECONDS", 0.2)
    site.seconds["/board"] = 0.6
    found = site.noted()
    assert (found.outcome, found.status) == ("timeout", None)
    assert found.seconds < 0.5


def test_what_comes_later_is_waited_for_and_the_whole_wait_counts(site: Site) -> None:
    site.looks_before_it_comes = 4
    found = site.noted(parcel)
    assert found.outcome == "ok" and found.seconds >= 0.2


def test_what_never_comes_is_a_time_out(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person, "PATIENCE_SECONDS", 0.3)
    site.looks_before_it_comes = 1_000
    found = site.noted(parcel)
    assert found.outcome == "timeout" and 0.3 <= found.seconds < 1.0


def test_a_refused_connection_is_an_error_of_the_site(site: Site) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        site.url = f"http://127.0.0.1:{free.getsockname()[1]}"

    async def go(user: Person) -> Seen:
        return seen(await user.ask("GET", "/board"), lambda _: "")

    found = site.noted(go)
    assert (found.outcome, found.status, found.detail) == ("error", None, "ConnectError")


def test_somebody_else_sits_down_every_so_many_visits_and_keeps_the_old_session_where_a_new_one_fails(site: Site) -> None:
    async def walk() -> tuple[list[bool], dict[str, str], dict[str, str]]:
        user = Person(site.url)
        turns = [user.turns(3) for _ in range(6)]
        user.client.cookies.set("session", "old")

        async def start() -> None:
            await user.reach("POST", "/door")
            user.client.cookies.set("session", "new")

        await user.anew(start, has_old=True)
        new = dict(user.client.cookies)
        site.status["/door"] = 500
        await user.anew(start, has_old=True)
        await user.client.aclose()
        return turns, new, dict(user.client.cookies)

    assert asyncio.run(walk()) == ([False, False, True] * 2, {"session": "new"}, {"session": "new"})


def test_probes_end_promptly_when_told_to_and_leave_whole_notes(httpserver: HTTPServer, tmp_path: Path) -> None:
    notes = tmp_path / "notes.jsonl"
    httpserver.expect_request("/").respond_with_json({"products": []})
    command = [
        sys.executable,
        "-m",
        "testbed.users.probes",
        "--url",
        httpserver.url_for(""),
        "--out",
        str(notes),
        "--every",
        "0.5",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as probes:
        deadline = time.monotonic() + 60
        while not {"home", "search"} <= {v.feature for v in read(notes)} and time.monotonic() < deadline:
            time.sleep(0.1)
        probes.send_signal(signal.SIGTERM)
        _, said = probes.communicate(timeout=10)
    assert (probes.returncode, said) == (0, "")
    outcomes = {v.feature: v.outcome for v in read(notes)}
    assert (outcomes["home"], outcomes["search"]) == ("missing_data", "error")
