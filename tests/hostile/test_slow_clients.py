"""Clients that begin and never end: others are answered, descriptors and the log stay small."""

from __future__ import annotations

import resource
import socket
import time
from contextlib import ExitStack, suppress

import pytest

from tests.hostile.conftest import Serve
from tests.hostile.tally import Tally

CONNECTIONS = 1_100
DESCRIPTORS = 1_024
"""What a server has by default: fewer than the connections."""
BEGINNINGS = (
    b"",
    b"GET / HT",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    b"POST /r HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 5000\r\n\r\nreport=",
    b"POST /r HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
)
MOST_LOG, MOST_WAIT_S, GONE_S = 100_000, 5.0, 90.0


def test_more_half_open_connections_than_descriptors(serve: Serve, tally: Tally) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < CONNECTIONS + 200:
        pytest.skip(f"half-open connections need {CONNECTIONS + 200} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, CONNECTIONS + 200), hard))
    server = serve("rate_limit = 0\n", descriptors=DESCRIPTORS)
    quiet = server.open_files()
    with ExitStack() as stack:
        slow = []
        for n in range(CONNECTIONS):
            with suppress(OSError):  # refusing a connection is one way to have few
                there = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=5))
                there.sendall(BEGINNINGS[n % len(BEGINNINGS)])
                slow.append(there)
        tally.add(half_open=CONNECTIONS, faults=1)
        waits, until = [], time.monotonic() + 30.0
        while time.monotonic() < until:
            began = time.monotonic()
            assert server.client.get("/healthz", headers={"connection": "close"}).status_code == 200
            waits.append(time.monotonic() - began)
            for there in slow[:: len(BEGINNINGS)]:
                with suppress(OSError):
                    there.sendall(b"x")
            time.sleep(0.5)
        tally.figures["slowest /healthz beside half-open connections, ms"] = f"{max(waits) * 1000:.0f}"
        tally.figures["log of those connections, kB"] = f"{len(server.said()) / 1000:.1f}"
        assert max(waits) < MOST_WAIT_S
        server.wait(lambda: server.open_files() <= quiet + 20, GONE_S)
    assert len(server.said()) < MOST_LOG
