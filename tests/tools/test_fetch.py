"""A backend that hangs, drips, floods, lies or is not there gives a clear error in bounded time."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate

import pytest
from pytest_httpserver import HTTPServer

from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits
from revelio.tools.bounded_body import LARGE, LARGE_AT_ONCE, BoundedBody
from revelio.tools.bounded_call import LateError
from revelio.tools.fetch import Fetcher, TooLargeError
from tests.tools.conftest import QUICK


@contextmanager
def raw_server(answer: bytes, *, drip_s: float = 0.0, hang: bool = False) -> Iterator[str]:
    """A server that sends these bytes to whoever connects, one by one when dripping, or nothing at all."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(5.0)
    stop = threading.Event()

    def serve() -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.recv(65536)
            try:
                if hang:
                    stop.wait(10.0)
                elif drip_s:
                    for byte in answer:
                        connection.sendall(bytes([byte]))
                        if stop.wait(drip_s):
                            return
                else:
                    connection.sendall(answer)
            except OSError:
                return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop.set()
        listener.close()
        thread.join(timeout=6.0)


def test_a_backend_that_hangs_is_given_up_after_the_limit() -> None:
    with raw_server(b"", hang=True) as url:
        began = time.monotonic()
        with pytest.raises(SourceError, match=r"no answer within 0\.5 s"):
            Fetcher("jaeger", Backend(url=url), QUICK).get("/x", {})
        assert time.monotonic() - began < 1.5


def test_a_backend_that_drips_is_given_up_although_it_never_pauses_for_long() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    with raw_server(head + b" " * 900, drip_s=0.005) as url:
        began = time.monotonic()
        with pytest.raises(SourceError, match=r"no answer within 0\.5 s"):
            Fetcher("jaeger", Backend(url=url), QUICK).get("/x", {})
        assert time.monotonic() - began < 2.0


def test_a_backend_that_floods_is_cut_off(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/x").respond_with_data(b"[" + b"1," * 500_000 + b"1]")
    with pytest.raises(TooLargeError, match=r"more than 0\.2 MB"):
        Fetcher("jaeger", Backend(url=httpserver.url_for("")), QUICK).get("/x", {})


def test_a_compressed_flood_is_cut_off_too(httpserver: HTTPServer) -> None:
    import gzip

    bomb = gzip.compress(b" " * 50_000_000)
    httpserver.expect_request("/x").respond_with_data(bomb, headers={"Content-Encoding": "gzip"})
    with pytest.raises(TooLargeError, match=r"more than 0\.2 MB"):
        Fetcher("jaeger", Backend(url=httpserver.url_for("")), QUICK).get("/x", {})


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (200, b"<html>hello</html>", "not JSON"),
        (200, b"\xff\xfe", "not JSON"),
        (400, b'{"status":"error","error":"parse error at char 3"}', "HTTP 400: parse error at char 3"),
        (500, b'{"errors":[{"code":500,"msg":"storage is gone"}]}', "HTTP 500: storage is gone"),
        (503, b'{"a":1}', "HTTP 503: no reason given"),
    ],
)
def test_an_answer_that_is_no_answer_is_told_as_it_is(httpserver: HTTPServer, status: int, body: bytes, message: str) -> None:
    httpserver.expect_request("/x").respond_with_data(body, status=status)
    with pytest.raises(SourceError, match=message):
        Fetcher("prometheus", Backend(url=httpserver.url_for("")), QUICK).get("/x", {})


def test_bytes_that_are_no_http_are_an_error_of_the_source() -> None:
    with raw_server(b"SSH-2.0-OpenSSH_9.2\r\n") as url, pytest.raises(SourceError, match="is its url right"):
        Fetcher("jaeger", Backend(url=url), QUICK).get("/x", {})


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://no-such-host.invalid", "nonsense", "http://[", "ftp://127.0.0.1"])
def test_a_backend_that_is_not_there_says_which_address_to_check(url: str) -> None:
    with pytest.raises(SourceError, match="is it running, and is its url right"):
        Fetcher("jaeger", Backend(url=url), QUICK).get("/x", {})


def test_no_address_says_where_to_set_one() -> None:
    with pytest.raises(SourceError, match=r"revelio\.toml"):
        Fetcher("jaeger", Backend(url=""), QUICK).get("/x", {})


def test_a_redirect_elsewhere_is_not_followed(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/x").respond_with_data(b"", status=302, headers={"Location": httpserver.url_for("/secret")})
    httpserver.expect_request("/secret").respond_with_json({"leaked": True})
    with pytest.raises(SourceError):
        Fetcher("jaeger", Backend(url=httpserver.url_for("")), QUICK).get("/x", {})


def test_a_name_that_no_utf_8_can_say_is_sent_with_a_question_mark(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/x", json={"name": "caf\u00e9 ?"}).respond_with_json({})
    assert Fetcher("x", Backend(url=httpserver.url_for("")), QUICK).send("/x", {"name": "caf\u00e9 \ud800"}) == {}


def test_few_large_bodies_are_held_at_a_time() -> None:
    def large() -> BoundedBody:
        body = BoundedBody(None, 10 * LARGE, 0.2)
        body.feed(b"x" * (LARGE + 1))
        return body

    held = [large() for _ in range(LARGE_AT_ONCE)]
    BoundedBody(None, LARGE, 0.2).feed(b"x" * LARGE)  # small ones need no turn
    with pytest.raises(LateError):
        large()
    for body in held:
        with body:
            pass
    with large() as again:
        assert len(again.whole()) == LARGE + 1


def dated(date: str) -> tuple[str, ...]:
    """What is said of an answer with that date."""
    with raw_server(f"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nDate: {date}\r\n\r\n{{}}".encode()) as url:
        fetch = Fetcher("loki", Backend(url=url), Limits(seconds=20.0))
        fetch.get("/", {})
        return fetch.notes


@pytest.mark.parametrize(("ahead_s", "told"), [(95.0, "ahead of the one here"), (-400.0, "behind the one here")])
def test_a_clock_that_disagrees_is_told(ahead_s: float, told: str) -> None:
    [note] = dated(formatdate(time.time() + ahead_s, usegmt=True))
    assert note.startswith("its clock is") and told in note


@pytest.mark.parametrize("date", ["", "yesterday", "Thu, 01 Jan 1970 00:00:00 -0000", "now"])
def test_a_server_that_tells_the_same_time_or_none_is_not_spoken_of(date: str) -> None:
    assert dated(formatdate(usegmt=True) if date == "now" else date) == ()
