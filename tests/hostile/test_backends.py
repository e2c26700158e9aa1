"""Whatever backends say, every question is answered in time, within memory, and without the passwords of their addresses."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.hostile.backends import KINDS, lying_backends, redirect, settings_of
from tests.hostile.conftest import Serve
from tests.hostile.served import Served, canary
from tests.hostile.tally import Tally

TIMEOUT_S = 2.0
IN_TIME_S = 180.0
"""For one user of fifty on two busy cores; a server that waits for a backend for ever does not keep it."""
USERS, MOST_MB = 50, 600.0


@pytest.fixture(scope="module")
def server(serve: Serve) -> Iterator[Served]:
    """A system for each kind of lie."""
    secret = canary("backend-password")
    with lying_backends() as ports:
        yield serve(f"rate_limit = 0\ntimeout_s = {TIMEOUT_S}\n{settings_of(ports, secret)}", hidden=(secret,))


def test_each_kind_of_lie(server: Served, tally: Tally) -> None:
    before, late, lock = len(tally.failures), list[str](), threading.Lock()

    def ask(kind: str) -> None:
        began = time.monotonic()
        client = httpx.Client(base_url=server.url, timeout=2 * IN_TIME_S, trust_env=False)
        with client:
            question = {"report": "the cart page hangs", "system": kind, "run": True}
            asked = server.judge(f"a question about {kind}", client.post("/api/v1/recommendations", json=question))
            if asked.status_code == 200:
                answer = asked.json()
                server.judge(f"an answer about {kind}", client.get(f"/r/{answer['id']}"))
                for query in answer["queries"][:2]:
                    path = f"/api/v1/recommendations/{answer['id']}/queries/{query['id']}/run"
                    server.judge(f"a query of {kind}", client.post(path))
            server.judge(f"a look at {kind}", client.post(f"/systems/{kind}/look"))
        tally.add(lies=1)
        if time.monotonic() - began > IN_TIME_S:
            with lock:
                late.append(f"{kind}: {time.monotonic() - began:.0f} s")

    with ThreadPoolExecutor(USERS) as users:
        tuple(users.map(ask, KINDS))
    tally.figures["memory with 50 users and all lying backends at once, MB"] = f"{server.memory('VmHWM'):,.0f} at most"
    assert late == []
    assert tally.failures[before:] == []
    assert server.memory("VmHWM") < MOST_MB


def test_what_the_pages_say_of_them_keeps_their_passwords(server: Served) -> None:
    for path in ("/systems", "/settings", "/history", "/api/v1/systems", "/api/v1/recommendations", "/metrics", "/readyz"):
        server.judge(path, server.client.get(path))
    assert server.tally.secrets == []


def test_no_backend_sends_the_server_elsewhere(serve: Serve, tally: Tally) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        there = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/".encode()
        with lying_backends({"redirects": redirect(there)}) as ports:
            server = serve(f"timeout_s = {TIMEOUT_S}\n{settings_of(ports)}")
            question = {"report": "it hangs", "system": "redirects", "run": True}
            assert server.client.post("/api/v1/recommendations", json=question).status_code < 500
            assert server.client.post("/systems/redirects/look").status_code == 200
        elsewhere.setblocking(False)
        try:
            elsewhere.accept()[0].close()
        except BlockingIOError:
            return
    tally.found("strangers", "where a backend redirected to")
    raise AssertionError("the server followed a redirect")
