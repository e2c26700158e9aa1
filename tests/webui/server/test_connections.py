"""A slow or silent client loses its connection, others are answered, and SIGTERM ends the server in time."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest
from fastapi import FastAPI, Request

from webui.middleware.security import BodyLimit
from webui.server import connections
from webui.server import run as running
from webui.server.run import Server, server

DEADLINE_S = 0.5


class Running:
    """A server on a thread."""

    def __init__(self, made: Server, listening: socket.socket) -> None:
        self.made, self.port = made, int(listening.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=lambda: asyncio.run(made.serve(sockets=[listening])))

    def connect(self, said: bytes = b"") -> socket.socket:
        there = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        there.sendall(said)
        return there

    def terminate(self) -> float:
        """As SIGTERM does; the seconds that it took."""
        began = time.monotonic()
        self.made.should_exit = True
        self.thread.join(timeout=10)
        assert not self.thread.is_alive()
        return time.monotonic() - began


def application() -> FastAPI:
    app = FastAPI()
    app.add_middleware(BodyLimit, limit=1_000)

    @app.post("/length")
    async def length(request: Request) -> int:
        return len(await request.body())

    @app.get("/slow")
    async def slow() -> str:
        await asyncio.sleep(0.6)
        return "slow"

    @app.get("/who")
    async def who(request: Request) -> list[str]:
        return [request.client.host if request.client else "", request.url.scheme]

    return app


@pytest.fixture
def proxies() -> tuple[str, ...]:
    """Who is believed."""
    return ()


@pytest.fixture
def server_there(monkeypatch: pytest.MonkeyPatch, proxies: tuple[str, ...]) -> Iterator[Running]:
    """Deadlines of half a second, room for eight connections."""
    monkeypatch.setattr(connections, "RECEIVE_S", DEADLINE_S)
    monkeypatch.setattr(connections, "SEND_S", DEADLINE_S)
    monkeypatch.setattr(connections, "most_connections", lambda: 8)
    monkeypatch.setattr(running, "_LAST_CALL_S", 0.05)
    listening = socket.create_server(("127.0.0.1", 0))
    there = Running(server(application(), trusted_proxies=proxies), listening)
    there.thread.start()
    while not there.made.started:
        time.sleep(0.01)
    yield there
    if there.thread.is_alive():
        there.terminate()


HEAD = b"POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"


@pytest.mark.parametrize("said", [b"", b"GET / HT", b"GET /who HTTP/1.1\r\nHost: x\r\n", HEAD, HEAD + b"half"])
def test_a_request_that_does_not_arrive_is_cut_though_it_drips(server_there: Running, said: bytes) -> None:
    with server_there.connect(said) as slow:
        began = time.monotonic()
        slow.settimeout(0.1)
        while time.monotonic() - began < 5:
            try:
                slow.sendall(b"" if not said else b"x" if b"\r\n\r\n" not in said else b"")
                if slow.recv(1000) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert DEADLINE_S * 0.8 < time.monotonic() - began < 5 * DEADLINE_S


def test_a_request_that_arrives_in_pieces_in_time_is_answered(server_there: Running) -> None:
    with server_there.connect() as there:
        for part in (HEAD[:20], HEAD[20:], b"01234", b"56789"):
            there.sendall(part)
            time.sleep(0.02)
        assert there.recv(1000).startswith(b"HTTP/1.1 200")


def test_an_answer_may_take_longer_than_a_request(server_there: Running) -> None:
    assert httpx.get(f"{server_there.url}/slow").json() == "slow"


def test_a_connection_stays_open_between_requests(server_there: Running) -> None:
    with httpx.Client(base_url=server_there.url) as client:
        assert client.get("/who").status_code == 200
        time.sleep(DEADLINE_S * 1.5)
        assert client.get("/who").status_code == 200
        assert len(server_there.made.server_state.connections) == 1


def test_whoever_waits_longest_makes_room(server_there: Running) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(server_there.connect(b"GET")) for _ in range(30)]
        assert httpx.get(f"{server_there.url}/who").status_code == 200
        assert len(server_there.made.server_state.connections) <= 8
        slow[0].settimeout(5)
        with suppress(ConnectionResetError):
            assert slow[0].recv(10) == b""


def test_where_all_are_answered_a_new_one_is_refused(server_there: Running) -> None:
    with ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(server_there.connect(b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"))
        time.sleep(0.1)
        refused = httpx.get(f"{server_there.url}/who")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")


def test_sigterm_answers_what_was_begun_and_waits_for_no_half_request(server_there: Running) -> None:
    asking = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
    with server_there.connect(HEAD + b"half"), server_there.connect(b"GET"), server_there.connect(asking) as asked:
        while not server_there.made.server_state.tasks:
            time.sleep(0.01)
        assert server_there.terminate() < 5
        assert asked.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_client_that_hangs_up_half_way_is_no_fault_of_the_server(
    server_there: Running, caplog: pytest.LogCaptureFixture
) -> None:
    with server_there.connect(HEAD + b"half"):
        while not server_there.made.server_state.tasks:
            time.sleep(0.01)
    while server_there.made.server_state.tasks:
        time.sleep(0.01)
    assert caplog.records == []


def test_nobody_is_believed_about_whom_they_forward_for(server_there: Running) -> None:
    forwarded = {"x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https"}
    assert httpx.get(f"{server_there.url}/who", headers=forwarded).json() == ["127.0.0.1", "http"]


@pytest.mark.parametrize("proxies", [("127.0.0.0/8",)])
def test_a_trusted_proxy_is(server_there: Running, proxies: tuple[str, ...]) -> None:
    forwarded = {"x-forwarded-for": "198.51.100.1, 203.0.113.7", "x-forwarded-proto": "https"}
    assert httpx.get(f"{server_there.url}/who", headers=forwarded).json() == ["203.0.113.7", "https"]


def test_cutting_is_logged(server_there: Running, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), server_there.connect(b"GET") as slow:
        slow.settimeout(5)
        with suppress(ConnectionResetError):
            assert slow.recv(10) == b""
    assert "no whole request within 0.5 s" in caplog.text
