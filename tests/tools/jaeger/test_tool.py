"""Jaeger: what is asked, what a snapshot holds, and signals that are high on a fault and low in health."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits
from revelio.tools.jaeger.tool import Jaeger
from revelio.tools.traces.tool import CACHE_SIZE, MOST_SERVICES
from revelio.types import Entity, Query, QueryTemplate
from tests.tools.conftest import QUICK, SCOPE, bound, filled, hostile, spec
from tests.tools.jaeger.payload import FakeSpan, answer, shop_trace, trace

Traces = list[dict[str, object]]
ROOMY = Limits(seconds=2.0, bytes=4_000_000)


def spread(make: Callable[[float], dict[str, object]], start: float, end: float, number: int) -> Traces:
    """Traces at even distances over a window."""
    return [make(start + (end - start) * (i + 0.5) / number) for i in range(number)]


def began(item: dict[str, object]) -> float:
    spans = item["spans"]
    assert isinstance(spans, list)
    return float(min(s["startTime"] for s in spans)) / 1e6


def jaeger(httpserver: HTTPServer, before: Traces, now: Traces, services: tuple[str, ...] = ("cart", "gateway")) -> Jaeger:
    """A backend that has these traces, newest last, and honours service, limit, tags and minDuration as Jaeger does."""

    def holds(item: dict[str, object], request: Request) -> bool:
        processes, spans = item["processes"], item["spans"]
        assert isinstance(processes, dict)
        assert isinstance(spans, list)
        own = [s for s in spans if processes[s["processID"]]["serviceName"] == request.args["service"]]
        if "operation" in request.args:
            own = [s for s in own if s["operationName"] == request.args["operation"]]
        if "tags" in request.args:
            wanted = json.loads(request.args["tags"])
            own = [
                s
                for s in own
                if all(any(t["key"] == k and str(t["value"]).lower() == v for t in s["tags"]) for k, v in wanted.items())
            ]
        if "minDuration" in request.args:
            own = [s for s in own if s["duration"] >= 1e6]
        return bool(own)

    def find(request: Request) -> Response:
        start, end = (float(request.args[name]) / 1e6 for name in ("start", "end"))
        pool = before if end <= SCOPE.baseline.end else now
        if (start, end) not in ((SCOPE.baseline.start, SCOPE.baseline.end), (SCOPE.window.start, SCOPE.window.end)):
            pool = [t for t in pool if start <= began(t) < end]
        found = [t for t in pool if holds(t, request)][-int(request.args["limit"]) :]
        return Response(json.dumps(answer(*found)), mimetype="application/json")

    httpserver.expect_request("/api/services").respond_with_json({"data": [*services, "jaeger-all-in-one"], "total": 3})
    httpserver.expect_request("/api/traces").respond_with_handler(find)
    return Jaeger(spec("jaeger"), Backend(url=httpserver.url_for(""), link="http://jaeger.example"), ROOMY)


def healthy(start: float, end: float, number: int = 40) -> Traces:
    def make(at: float) -> dict[str, object]:
        wiggle = (at * 7919) % 11
        return shop_trace(at, cart_ms=8 + wiggle, redis_ms=2 + wiggle / 5)

    return spread(make, start, end, number)


BEFORE = (SCOPE.baseline.start, SCOPE.baseline.end, 80)
WINDOW = (SCOPE.window.start, SCOPE.window.end, 40)


def slow_cart(at: float) -> dict[str, object]:
    return shop_trace(at, cart_ms=1500)


def failing_cart(at: float) -> dict[str, object]:
    return shop_trace(at, failed=True)


def slow_redis(at: float) -> dict[str, object]:
    return shop_trace(at, cart_ms=2010, redis_ms=2000)


def chatty_cart(at: float, calls: int = 25) -> dict[str, object]:
    """The cart asks Redis for each of its lines."""
    redis = [FakeSpan("cart", "HGET", 1.0 + i, 0.8, "client", tags={"net.peer.name": "redis"}) for i in range(calls)]
    return trace(FakeSpan("cart", "GET /carts/{session}", 0.0, calls + 8.0, "server", children=redis), at)


FAULTS = [
    ("jaeger.slow_spans", {"service": "cart"}, slow_cart),
    ("jaeger.slow_operation", {"operation": "cart: GET /carts/{session}"}, slow_cart),
    ("jaeger.slow_calls", {"service": "cart", "peer": "redis"}, slow_redis),
    ("jaeger.own_time", {"service": "cart"}, slow_cart),
    ("jaeger.where_time_goes", {}, slow_cart),
    ("jaeger.repeated_calls", {"service": "cart", "peer": "redis"}, chatty_cart),
    ("jaeger.long_traces", {"service": "gateway"}, slow_cart),
    ("jaeger.error_spans", {"service": "cart"}, failing_cart),
    ("jaeger.error_operation", {"operation": "cart: GET /carts/{session}"}, failing_cart),
    ("jaeger.failed_calls", {"service": "gateway", "peer": "cart"}, failing_cart),
]


@pytest.mark.parametrize(("template", "bindings", "fault"), FAULTS, ids=[f[0] for f in FAULTS])
def test_the_signal_is_present_in_the_fault_and_absent_in_health(
    httpserver: HTTPServer, template: str, bindings: dict[str, str], fault: Callable[[float], dict[str, object]]
) -> None:
    broken = jaeger(httpserver, healthy(*BEFORE), spread(fault, *WINDOW)).run(bound(template, **bindings), SCOPE)
    assert broken.signal >= 0.5, broken.reason
    assert broken.rows
    assert len(broken.spans) >= 4
    httpserver.clear()
    well = jaeger(httpserver, healthy(*BEFORE), healthy(*WINDOW)).run(bound(template, **bindings), SCOPE)
    assert well.signal < 0.2, well.reason


def test_every_bundled_template_is_tried_above() -> None:
    assert {f[0] for f in FAULTS} == {t.id for t in spec("jaeger").templates}


def test_a_request_that_repeats_its_calls_is_seen_among_many_that_do_not(httpserver: HTTPServer) -> None:
    """One trace in five, of a request that had three calls of its own."""
    before = [*healthy(*BEFORE), *spread(lambda at: chatty_cart(at, 3), *BEFORE[:2], 20)]
    now = [*healthy(*WINDOW), *spread(chatty_cart, *WINDOW[:2], 10)]
    result = jaeger(httpserver, before, now).run(bound("jaeger.repeated_calls", service="cart", peer="redis"), SCOPE)
    assert result.signal >= 0.5
    assert result.summary == "cart: GET /carts/{session}: 25.0 calls a request now, 3.0 before"
    assert [(row[0], row[2], row[4]) for row in result.rows] == [
        ("cart: GET /carts/{session}", 25.0, 3.0),
        ("gateway: GET /cart", 1.0, 1.0),
    ]


def test_repeated_calls_are_looked_for_in_the_traces_of_who_is_called(httpserver: HTTPServer) -> None:
    """The newest hundred of the caller hold no such request."""

    def search(at: float, calls: int) -> dict[str, object]:
        served = [FakeSpan("cart", "GET /carts/{session}", 0.5 + i, 0.6, "server") for i in range(calls)]
        asked = [
            FakeSpan("gateway", "GET", 0.4 + i, 0.8, "client", tags={"net.peer.name": "cart"}, children=[one])
            for i, one in enumerate(served)
        ]
        return trace(FakeSpan("gateway", "GET /search", 0.0, calls + 9.0, "server", children=asked), at)

    def other(at: float) -> dict[str, object]:
        return trace(FakeSpan("gateway", "GET /help", 0.0, 3.0, "server"), at)

    before = [*spread(lambda at: search(at, 1), *BEFORE[:2], 20), *spread(other, *BEFORE[:2], 120)]
    now = [*spread(lambda at: search(at, 18), *WINDOW[:2], 8), *spread(other, *WINDOW[:2], 120)]
    tool = jaeger(httpserver, before, now)
    query = bound("jaeger.repeated_calls", service="gateway", peer="cart")
    result = tool.run(query, SCOPE)
    assert result.signal >= 0.5
    assert result.summary == "gateway: GET /search: 18.0 calls a request now, 1.0 before"
    first, *others = tool.render(query, SCOPE).splitlines()
    assert "service=cart&" in first
    assert others[0] == "# or, where that one sends no spans:"
    assert "service=gateway&" in others[1]
    assert others[2] == '# only calls of "gateway" to "cart"'


def test_more_requests_of_the_same_kind_repeat_nothing(httpserver: HTTPServer) -> None:
    tool = jaeger(httpserver, healthy(*BEFORE), healthy(*WINDOW[:2], 90))
    assert tool.run(bound("jaeger.repeated_calls", service="cart", peer="redis"), SCOPE).signal == 0.0


def test_slowness_behind_a_call_is_not_own_time_and_a_store_has_its_own(httpserver: HTTPServer) -> None:
    tool = jaeger(httpserver, healthy(*BEFORE), spread(slow_redis, *WINDOW))
    assert tool.run(bound("jaeger.own_time", service="cart"), SCOPE).signal < 0.2
    result = tool.run(bound("jaeger.where_time_goes"), SCOPE)
    assert result.signal >= 0.5
    assert result.summary.startswith("redis:")


def test_slowness_of_a_third_of_the_requests_is_seen(httpserver: HTTPServer) -> None:
    some = healthy(*WINDOW)
    for i in range(0, len(some), 3):
        some[i] = slow_cart(SCOPE.window.start + 30.0 * i / len(some))
    assert jaeger(httpserver, healthy(*BEFORE), some).run(bound("jaeger.slow_spans", service="cart"), SCOPE).signal >= 0.5


def test_one_slow_request_is_no_incident(httpserver: HTTPServer) -> None:
    some = healthy(*WINDOW)
    some[11] = slow_cart(SCOPE.window.start + 8.0)
    assert jaeger(httpserver, healthy(*BEFORE), some).run(bound("jaeger.slow_spans", service="cart"), SCOPE).signal < 0.5


def test_a_snapshot_holds_figures_of_operations_and_edges_now_and_before(httpserver: HTTPServer) -> None:
    broken = [*healthy(*WINDOW), *spread(failing_cart, SCOPE.window.start + 20, SCOPE.window.end, 10)]
    evidence = jaeger(httpserver, healthy(*BEFORE), broken).snapshot(SCOPE)
    assert evidence.entities == (
        Entity("edge", "cart->redis"),
        Entity("edge", "gateway->cart"),
        Entity("operation", "cart: GET /carts/{session}"),
        Entity("operation", "gateway: GET /cart"),
        Entity("service", "cart"),
        Entity("service", "gateway"),
    )
    stat = next(s for s in evidence.spans if s.entity.name == "cart: GET /carts/{session}")
    assert (stat.before.count, stat.before.errors, stat.now.count, stat.now.errors) == (80, 0, 50, 10)
    assert stat.first_error_at == pytest.approx(SCOPE.window.start + 20.5, abs=0.1)
    assert stat.service == "cart"
    assert 5 < stat.now.self_ms < stat.now.median_ms < stat.now.p95_ms


def test_a_snapshot_asks_a_few_times_only_and_never_about_jaeger_itself(httpserver: HTTPServer) -> None:
    jaeger(httpserver, healthy(*BEFORE), healthy(*WINDOW)).snapshot(SCOPE)
    asked = [r.args["service"] for r, _ in httpserver.log if r.path == "/api/traces"]
    assert set(asked) <= {"cart", "gateway"}
    assert len(asked) <= 6  # a few of each service, then both windows


def test_a_snapshot_sees_what_comes_in_without_passing_the_service_asked_first(httpserver: HTTPServer) -> None:
    def alone(at: float) -> dict[str, object]:
        return trace(FakeSpan("gateway", "GET /search", 0, 5), at)

    before, now = ([*healthy(*when), *spread(alone, *when)] for when in (BEFORE, WINDOW))
    tool = jaeger(httpserver, before, now)
    for _ in range(2):
        assert Entity("operation", "gateway: GET /search") in tool.snapshot(SCOPE).entities
    asked = [r.args["service"] for r, _ in httpserver.log if r.path == "/api/traces"]
    assert asked == ["cart", "cart", "cart", "gateway", "gateway", "gateway"]  # a few of each first


def test_a_hundred_thousand_services_are_asked_for_as_far_as_the_time_goes(httpserver: HTTPServer) -> None:
    names = [f"s{n:06d}" for n in range(100_000)]
    httpserver.expect_request("/api/services").respond_with_json({"data": names})
    httpserver.expect_request("/api/traces").respond_with_json({"data": []})
    tool = Jaeger(spec("jaeger"), Backend(url=httpserver.url_for("")), Limits(seconds=1.0))
    began = time.monotonic()
    assert tool.snapshot(SCOPE).spans == ()
    assert time.monotonic() - began < 4.0
    asked = {r.args["service"] for r, _ in httpserver.log if r.path == "/api/traces"}
    assert 1 <= len(asked) <= MOST_SERVICES
    assert asked == set(names[: len(asked)])


def test_counts_of_a_cut_off_sample_are_scaled_to_the_window(httpserver: HTTPServer) -> None:
    evidence = jaeger(httpserver, healthy(*BEFORE[:2], 900), healthy(*WINDOW[:2], 450)).snapshot(SCOPE)
    stat = next(s for s in evidence.spans if s.entity.name == "gateway: GET /cart")
    assert stat.now.count == pytest.approx(450, rel=0.05)
    assert stat.before.count == pytest.approx(900, rel=0.05)


def test_what_came_in_a_burst_is_not_counted_as_if_it_went_on(httpserver: HTTPServer) -> None:
    burst = spread(failing_cart, SCOPE.window.end - 3.0, SCOPE.window.end, 150)
    result = jaeger(httpserver, healthy(*BEFORE), burst).run(bound("jaeger.error_spans", service="cart"), SCOPE)
    assert 140 <= float(result.summary.split()[0]) <= 330


def test_a_busy_service_does_not_multiply_the_counts_of_a_quiet_one(httpserver: HTTPServer) -> None:
    quiet = [
        trace(FakeSpan("worker", "run", 0.0, 5.0, "server"), at) for at in (SCOPE.window.start + 1.0, SCOPE.window.end - 2.0)
    ]
    now = sorted([*healthy(*WINDOW[:2], 900), *quiet], key=began)
    seen = jaeger(httpserver, healthy(*BEFORE), now, ("cart", "gateway", "worker")).snapshot(SCOPE)
    assert {s.entity.name: s.now.count for s in seen.spans}["worker: run"] == 2


def test_a_store_that_is_younger_than_the_baseline_is_compared_with_what_it_saw(httpserver: HTTPServer) -> None:
    young = healthy(SCOPE.baseline.end - 10.0, SCOPE.baseline.end, 40)
    assert jaeger(httpserver, young, healthy(*WINDOW)).snapshot(SCOPE).baseline.seconds == pytest.approx(10.0, abs=0.5)


def test_a_store_that_saw_nothing_before_compares_with_nothing(httpserver: HTTPServer) -> None:
    tool = jaeger(httpserver, [], spread(chatty_cart, *WINDOW))
    result = tool.run(bound("jaeger.repeated_calls", service="cart", peer="redis"), SCOPE)
    assert (result.signal, "no request seen before" in result.summary) == (0.0, True)
    assert tool.snapshot(SCOPE).baseline.seconds == 0.0
    failing = jaeger(httpserver, [], spread(failing_cart, *WINDOW)).run(bound("jaeger.error_spans", service="cart"), SCOPE)
    assert (failing.signal, "nothing was recorded then" in failing.summary) == (0.0, True)


def test_an_answer_that_is_too_large_is_asked_for_in_a_smaller_helping(httpserver: HTTPServer) -> None:
    tool = jaeger(httpserver, healthy(*BEFORE[:2], 200), healthy(*WINDOW[:2], 200))
    tool._fetch.limits = Limits(seconds=2.0, bytes=90_000)
    evidence = tool.snapshot(SCOPE)
    assert {"50", "12"} & {r.args["limit"] for r, _ in httpserver.log if r.path == "/api/traces"}
    assert evidence.spans


def test_a_settled_window_is_asked_for_once(httpserver: HTTPServer) -> None:
    tool = jaeger(httpserver, healthy(*BEFORE), healthy(*WINDOW))
    for template in ("jaeger.slow_spans", "jaeger.own_time"):
        tool.run(bound(template, service="cart"), SCOPE)
    tool.run(bound("jaeger.slow_operation", operation="cart: GET /carts/{session}"), SCOPE)
    assert len([r for r, _ in httpserver.log if r.path == "/api/traces"]) == 2


def test_many_questions_about_operations_do_not_push_out_what_all_views_of_the_service_read(httpserver: HTTPServer) -> None:
    tool = jaeger(httpserver, healthy(*BEFORE[:2], 200), healthy(*WINDOW[:2], 200))
    for number in range(CACHE_SIZE):
        tool.run(bound("jaeger.slow_operation", operation=f"cart: GET /rarely/{number}"), SCOPE)
    tool.run(bound("jaeger.slow_spans", service="cart"), SCOPE)
    assert len([r for r, _ in httpserver.log if r.args.get("limit") == "100" and "operation" not in r.args]) == 2


def test_a_span_counts_where_it_ended(httpserver: HTTPServer) -> None:
    """What the incident held up began before it, and must not make the baseline look slow."""
    held_up = [shop_trace(SCOPE.baseline.end - 5.0 + i / 2, cart_ms=20_000) for i in range(8)]
    still_running = [shop_trace(SCOPE.window.end - 1.0, cart_ms=20_000, failed=True)]
    tool = jaeger(httpserver, [*healthy(*BEFORE), *held_up], [*held_up, *still_running])
    stat = next(s for s in tool.snapshot(SCOPE).spans if s.entity.name == "cart: GET /carts/{session}")
    assert (stat.before.count, stat.now.count, stat.now.errors) == (80, 8, 0)
    assert stat.before.p95_ms < 100 < stat.now.median_ms
    assert tool.run(bound("jaeger.slow_spans", service="cart"), SCOPE).signal >= 0.5


def test_no_span_in_the_window_is_said_and_is_no_signal(httpserver: HTTPServer) -> None:
    result = jaeger(httpserver, healthy(*BEFORE), []).run(bound("jaeger.slow_spans", service="cart"), SCOPE)
    assert result.signal == 0.0
    assert result.summary == "no span in the window, 160 spans before"


@given(hostile())
def test_no_name_adds_a_parameter_or_changes_another(name: str) -> None:
    tool = Jaeger(spec("jaeger"), Backend(url="http://nowhere", link="http://jaeger.example"), QUICK)
    clean = name.encode("utf-8", errors="replace").decode()
    for harmless, query in zip(filled("jaeger", "cart"), filled("jaeger", name), strict=True):
        usual, odd = tool.render(harmless, SCOPE), tool.render(query, SCOPE)
        assert odd.count("\n") == usual.count("\n")
        before, after = (parse_qs(urlsplit(t.split("\n")[0]).query, keep_blank_values=True) for t in (usual, odd))
        assert set(after) - {"operation"} == set(before)
        assert all(after[k] == before[k] for k in before if k != "service")
        if query.bindings and "operation" not in dict(query.bindings):
            assert after["service"] == [clean]
        link = tool.link(query, SCOPE)
        assert link is None or link.startswith("http://jaeger.example/search?service=")


def test_the_link_opens_the_same_search(httpserver: HTTPServer) -> None:
    link = jaeger(httpserver, [], []).link(bound("jaeger.error_operation", operation="cart: GET /c"), SCOPE)
    assert link is not None
    params = parse_qs(urlsplit(link).query)
    assert (params["service"], params["operation"], params["tags"]) == (["cart"], ["GET /c"], ['{"error": "true"}'])


def test_bodies_that_jaeger_cannot_be_asked_say_what_is_wrong() -> None:
    tool = Jaeger(spec("jaeger"), Backend(url="http://nowhere"), QUICK)

    def render(body: str) -> str:
        return tool.render(Query(QueryTemplate("own-text", "jaeger", "t", "", body)), SCOPE)

    assert "service=cart" in render("{view: slow, service: cart}")
    for body, message in [
        ("{view: pretty}", "there are: slow, errors, long, own_time"),
        ("{service: a, delete: all}", "'delete'"),
        ("{service: a, min_duration: long}", "500ms"),
        ("just words", "mapping"),
        ("{a: [", "not readable"),
    ]:
        with pytest.raises(SourceError, match=message):
            render(body)


@pytest.mark.parametrize("lie", [b"[]", b'{"data":[{"traceID":"1"}]}', b'{"data":"none"}', b"{}"])
def test_a_lying_backend_is_an_error_of_the_source(httpserver: HTTPServer, lie: bytes) -> None:
    httpserver.expect_request("/api/traces").respond_with_data(lie, mimetype="application/json")
    tool = Jaeger(spec("jaeger"), Backend(url=httpserver.url_for("")), QUICK)
    with pytest.raises(SourceError, match="not Jaeger's"):
        tool.run(bound("jaeger.slow_spans", service="a"), SCOPE)


def test_a_call_to_a_frozen_peer_that_never_answers_is_still_a_failed_call(httpserver: HTTPServer) -> None:
    def unanswered(at: float) -> dict[str, object]:
        call = FakeSpan("gateway", "GET cart", 1, 2000, "client", True, tags={"peer.service": "cart"})
        return trace(FakeSpan("gateway", "GET /cart", 0, 2005, "server", True, [call]), at)

    tool = jaeger(httpserver, healthy(*BEFORE), spread(unanswered, *WINDOW))
    assert tool.run(bound("jaeger.failed_calls", service="gateway", peer="cart"), SCOPE).signal >= 0.5
    assert tool.run(bound("jaeger.slow_calls", service="gateway", peer="cart"), SCOPE).signal >= 0.5
