"""What the service kit promises without any server: settings, limits, pages, bodies, passwords, and how a service answers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pytest_httpserver import HTTPServer
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient
from werkzeug import Response as Answer

from kit.bodies import number, optional_word, word
from kit.limits import RateLimit
from kit.paging import page
from kit.passwords import hash_password, matches
from kit.peers import Peer, PeerError, peer
from kit.service import Observed
from kit.settings import Settings, read_settings


def settings(**environ: str) -> Settings:
    return Settings("cart", "1", "", "", "", 8000, environ)


def asked(query: str) -> Request:
    return Request({"type": "http", "query_string": query.encode(), "headers": [], "method": "GET", "path": "/"})


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_peer_is_found_by_its_name_unless_the_environment_says_otherwise() -> None:
    assert settings().peer("cart") == "http://cart:8000"
    assert settings(CART_URL="http://elsewhere:1").peer("cart") == "http://elsewhere:1"


@pytest.mark.parametrize("text", ["many", "-1", "nan", "1,5"])
def test_a_service_does_not_start_with_a_number_that_is_none(text: str) -> None:
    with pytest.raises(SystemExit, match=rf"DB_POOL_SIZE='{text}' must be a number from 0 on"):
        settings(DB_POOL_SIZE=text).number("DB_POOL_SIZE", 8)


def test_settings_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_NAME", "cart")
    monkeypatch.setenv("PORT", "8001")
    monkeypatch.setenv("DATABASE_URL", "postgresql://there")
    found = read_settings()
    assert (found.service, found.port, found.database) == ("cart", 8001, "postgresql://there")


def test_a_rate_limit_lets_a_seconds_worth_through_and_then_as_many_as_time_brings() -> None:
    clock = Clock()
    limit = RateLimit(5, clock)
    assert [limit.take() for _ in range(7)] == [True] * 5 + [False] * 2
    clock.now += 0.4
    assert [limit.take() for _ in range(3)] == [True, True, False]


@given(st.lists(st.floats(0, 0.5), min_size=1, max_size=60))
def test_no_second_sees_more_than_twice_the_limit(pauses: list[float]) -> None:
    clock = Clock()
    limit, taken = RateLimit(4, clock), []
    for pause in pauses:
        clock.now += pause
        if limit.take():
            taken.append(clock.now)
    assert all(sum(start <= at < start + 1 for at in taken) <= 8 for start in taken)


def test_no_limit_is_no_limit() -> None:
    limit = RateLimit(0, Clock())
    assert all(limit.take() for _ in range(1000))


def test_a_page_comes_after_the_last_entry_seen() -> None:
    assert (page(asked("")).after, page(asked("")).size) == (None, 20)
    assert (page(asked("after=7&size=5")).after, page(asked("after=7&size=5")).size) == (7, 5)


@pytest.mark.parametrize("query", ["after=-1", "after=x", "after=1e3", "size=0", "size=51", "after=" + "9" * 30, "size=%D9%A3"])
def test_a_page_that_makes_no_sense_is_refused(query: str) -> None:
    with pytest.raises(HTTPException) as refused:
        page(asked(query))
    assert refused.value.status_code == 400


@given(st.text(min_size=1, max_size=80))
def test_the_largest_and_any_other_page_number_give_a_page_or_a_400(text: str) -> None:
    request = Request({"type": "http", "query_string": b"", "headers": [], "method": "GET", "path": "/"})
    request._query_params = {"after": text}  # type: ignore[assignment]
    try:
        assert 0 <= (page(request).after or 0) <= 2**63 - 1
    except HTTPException as refused:
        assert refused.status_code == 400


@pytest.mark.parametrize("value", [None, "", 3, "a\0b", "\ud800", ["x"]])
def test_a_word_that_is_none_is_the_callers_mistake(value: object) -> None:
    with pytest.raises(HTTPException):
        word({"name": value}, "name")


def test_bodies_are_read_with_their_defaults() -> None:
    assert optional_word({}, "city", "Bern") == "Bern"
    assert number({"n": 3}, "n") == number({}, "n", 3) == 3
    with pytest.raises(HTTPException):
        number({"n": True}, "n")


def test_a_password_matches_itself_and_nothing_else() -> None:
    hashed = asyncio.run(hash_password("a secret"))
    assert "a secret" not in hashed and hashed != asyncio.run(hash_password("a secret"))
    assert asyncio.run(matches("a secret", hashed)) and not asyncio.run(matches("a secre", hashed))


def service(limit: float = 0) -> TestClient:
    async def fine(_: Request) -> Response:
        return JSONResponse({})

    async def bad(_: Request) -> Response:
        raise KeyError("stock")

    routes = [Route("/fine/{id}", fine), Route("/bad", bad), Route("/healthz", fine)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(Observed, limit=RateLimit(limit))]))


def test_an_unexpected_exception_is_a_500_in_words_that_tell_a_user_nothing(caplog: pytest.LogCaptureFixture) -> None:
    answer = service().get("/bad")
    assert (answer.status_code, answer.json()) == (500, {"error": "something went wrong"})
    assert "unhandled KeyError in GET /bad" in caplog.text


def test_more_requests_than_the_limit_are_refused_but_health_is_always_told() -> None:
    client = service(limit=2)
    assert [client.get("/fine/1").status_code for _ in range(3)] == [200, 200, 429]
    assert client.get("/healthz").status_code == 200


def test_a_span_bears_the_name_of_its_route_and_not_of_each_page() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for path in ("/fine/1", "/fine/2", "/bad", "/nowhere"):
        TestClient(OpenTelemetryMiddleware(service().app, tracer_provider=provider, exclude_spans=["send", "receive"])).get(path)
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans] == ["GET /fine/{id}", "GET /fine/{id}", "GET /bad", "GET unmatched"]
    assert [dict(span.attributes or {})["http.route"] for span in spans] == ["/fine/{id}", "/fine/{id}", "/bad", "unmatched"]


def called(server: HTTPServer, **environ: str) -> Any:
    async def call() -> Any:
        other = peer(settings(CART_URL=server.url_for(""), **environ), "cart")
        try:
            return await other.get("/page")
        finally:
            await other.close()

    return asyncio.run(call())


def test_a_peers_answer_comes_as_json_and_its_refusal_in_its_own_words(httpserver: HTTPServer) -> None:
    httpserver.expect_ordered_request("/page").respond_with_json({"lines": []})
    httpserver.expect_ordered_request("/page").respond_with_json({"error": "no such cart"}, status=404)
    assert called(httpserver) == {"lines": []}
    with pytest.raises(PeerError, match="cart: no such cart") as refused:
        called(httpserver)
    assert refused.value.status == 404


def test_a_peer_that_fails_is_a_502_and_one_too_slow_a_504(httpserver: HTTPServer) -> None:
    httpserver.expect_ordered_request("/page").respond_with_json({}, status=500)
    with pytest.raises(PeerError) as failed:
        called(httpserver)
    assert failed.value.status == 502

    def slow(_: object) -> Any:
        from werkzeug import Response as Answer

        time.sleep(0.5)
        return Answer("{}")

    httpserver.expect_ordered_request("/page").respond_with_handler(slow)
    with pytest.raises(PeerError) as late:
        called(httpserver, CART_TIMEOUT_SECONDS="0.1", PEER_TIMEOUT_SECONDS="9")
    assert late.value.status == 504


async def answered(other: Peer) -> Any:
    """The page, as soon as a connection is free; the last refusal when none is after five seconds."""
    deadline = time.monotonic() + 5.0
    while True:
        try:
            return await other.get("/page")
        except PeerError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.05)


def test_calls_that_nobody_waits_for_any_more_give_their_connections_back(httpserver: HTTPServer) -> None:
    def slow(_: object) -> Answer:
        time.sleep(0.3)
        return Answer("{}")

    httpserver.expect_request("/slow").respond_with_handler(slow)
    httpserver.expect_request("/page").respond_with_json({"lines": []})

    async def call() -> Any:
        other = peer(settings(CART_URL=httpserver.url_for(""), PEER_CONNECTIONS="2"), "cart")
        for _ in range(6):
            waiting = asyncio.gather(*(other.get("/slow") for _ in range(4)))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(waiting, 0.05)
        try:
            return await answered(other)
        finally:
            await other.close()

    assert asyncio.run(call()) == {"lines": []}


def test_a_lost_connection_is_tried_once_more_for_reads_only() -> None:
    tries = []

    class Lost(Peer):
        async def _call(self, method: str, path: str, **options: Any) -> Any:
            tries.append(method)
            raise PeerError(self.name, 502, "connection")

    lost = Lost("cart", "http://127.0.0.1:1")
    for call in (lost.get("/page"), lost.post("/page", {})):
        with pytest.raises(PeerError):
            asyncio.run(call)
    assert tries == ["GET", "GET", "POST"]


def test_calls_that_were_given_up_leave_their_connections_to_others(httpserver: HTTPServer) -> None:
    def slow(_: object) -> Any:
        from werkzeug import Response as Answer

        time.sleep(0.1)
        return Answer("{}")

    httpserver.expect_request("/slow").respond_with_handler(slow)
    httpserver.expect_request("/page").respond_with_json({"fine": True})

    async def impatient(other: Peer) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await other.get("/slow")

    async def story() -> Any:
        other = Peer("cart", httpserver.url_for(""), connections=2)
        for _ in range(3):
            await asyncio.gather(*(impatient(other) for _ in range(8)))
        try:
            return await answered(other)
        finally:
            await other.close()

    assert asyncio.run(story()) == {"fine": True}


@pytest.mark.parametrize(("reason", "status", "asked"), [("timeout", 504, 4), ("no such cart", 404, 1)])
def test_a_read_that_failed_is_repeated_as_often_as_configured(reason: str, status: int, asked: int) -> None:
    tries = []

    class Failing(Peer):
        async def _call(self, method: str, path: str, **options: Any) -> Any:
            tries.append(method)
            raise PeerError(self.name, status, reason)

    failing = Failing("cart", "http://127.0.0.1:1", retries=3)
    for call in (failing.get("/page"), failing.put("/page", {})):
        with pytest.raises(PeerError):
            asyncio.run(call)
    assert tries == ["GET"] * asked + ["PUT"]
