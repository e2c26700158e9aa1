"""Prometheus: what a snapshot reads, and signals that are high on a fault and low in health."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from revelio.catalog.conventions import Profile, recorded_profile
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.prometheus.tool import Prometheus
from revelio.types import Entity, Query, QueryTemplate
from tests.tools.conftest import QUICK, SCOPE, bound, grid, spec

Matrix = list[tuple[dict[str, str], list[tuple[float, float]]]]


def matrix(series: Matrix) -> bytes:
    """An answer as Prometheus 2.42 gives it."""
    result = [{"metric": labels, "values": [[t, format(v, "g")] for t, v in points]} for labels, points in series]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


class Known(Prometheus):
    """One whose conventions are known already."""

    def discover(self, project: str, *, refresh: bool = False) -> Profile:
        return recorded_profile()


def prometheus(httpserver: HTTPServer, answer: Callable[[str], Matrix]) -> Prometheus:
    def handler(request: Request) -> Response:
        try:
            return Response(matrix(answer(request.form["query"])), mimetype="application/json")
        except ValueError as error:
            return Response(json.dumps({"status": "error", "error": str(error)}), 422, mimetype="application/json")

    httpserver.expect_request("/api/v1/query_range", method="POST").respond_with_handler(handler)
    return Known(spec("prometheus"), Backend(url=httpserver.url_for(""), link="http://prom.example/"), QUICK)


def level(value: float) -> Callable[[float], float]:
    return lambda _: value


def ripple(centre: float, width: float) -> Callable[[float], float]:
    """A figure that goes up and down by ``width`` around its centre."""
    return lambda moment: centre + width * ((moment // 2 * 7919) % 11 / 5.0 - 1.0)


FAULTS = [
    ("prometheus.request_rate", {"service": "cart"}, ripple(8, 1), level(0)),
    ("prometheus.error_rate", {"service": "cart"}, level(0), level(0.4)),
    ("prometheus.latency_p95", {"service": "cart"}, ripple(0.05, 0.03), ripple(0.9, 0.2)),
    ("prometheus.edge_rate", {"service": "a", "peer": "b"}, ripple(8, 1), level(0)),
    ("prometheus.edge_errors", {"service": "a", "peer": "b"}, level(0), level(0.3)),
    ("prometheus.edge_latency_p95", {"service": "a", "peer": "b"}, ripple(0.05, 0.03), level(2.4)),
    ("prometheus.up", {"service": "cart"}, level(1), level(0)),
    ("prometheus.uptime", {"service": "cart"}, lambda t: t - SCOPE.baseline.start + 500, lambda t: t - SCOPE.window.start + 1),
    ("prometheus.open_fds", {"service": "cart"}, ripple(30, 3), ripple(300, 3)),
    ("prometheus.pool_use", {"service": "cart"}, ripple(0.2, 0.1), level(1)),
    ("prometheus.pool_waiting", {"service": "cart"}, level(0), level(6)),
    ("prometheus.cpu", {"container": "cart"}, ripple(0.2, 0.03), level(0)),
    ("prometheus.cpu_throttling", {"container": "cart"}, ripple(0.02, 0.02), level(0.95)),
    ("prometheus.cpu_of_limit", {"container": "cart"}, ripple(0.2, 0.05), level(0.98)),
    ("prometheus.cpu_limit", {"container": "cart"}, level(0.5), level(0.05)),
    ("prometheus.memory", {"container": "cart"}, ripple(60e6, 2e6), ripple(200e6, 2e6)),
    ("prometheus.memory_of_limit", {"container": "cart"}, ripple(0.2, 0.01), level(0.97)),
    ("prometheus.oom_events", {"container": "cart"}, level(0), level(1)),
    ("prometheus.network", {"container": "cart"}, ripple(80e3, 9e3), level(0)),
    ("prometheus.disk", {"container": "cart"}, ripple(50e3, 9e3), level(5e6)),
    ("prometheus.processes", {"container": "cart"}, level(12), level(80)),
]


@pytest.mark.parametrize(("template", "bindings", "health", "fault"), FAULTS, ids=[f[0] for f in FAULTS])
def test_the_signal_is_present_in_the_fault_and_absent_in_health(
    httpserver: HTTPServer,
    template: str,
    bindings: dict[str, str],
    health: Callable[[float], float],
    fault: Callable[[float], float],
) -> None:
    now = [fault]
    tool = prometheus(httpserver, lambda _: [({}, grid(health, now[0]))])
    broken = tool.run(bound(template, **bindings), SCOPE)
    now[0] = health
    well = tool.run(bound(template, **bindings), SCOPE)
    assert broken.signal >= 0.5, broken.reason
    assert well.signal < 0.2, well.reason
    assert broken.series
    assert broken.summary
    assert "σ from baseline" in broken.reason


def test_errors_of_a_route_that_had_none_before_count_from_zero(httpserver: HTTPServer) -> None:
    window_only = [(t, v) for t, v in grid(level(0), level(0.4)) if t >= SCOPE.window.start]
    labels = {"http_request_method": "POST", "http_route": "/payment", "http_response_status_code": "500"}
    scraped = grid(level(3), level(3))
    tool = prometheus(httpserver, lambda query: [({}, scraped)] if query == "count(up)" else [(labels, window_only)])
    result = tool.run(bound("prometheus.error_rate_by_route", service="payment"), SCOPE)
    assert result.signal >= 0.5
    assert "POST 500 /payment" in result.summary


def test_where_nothing_was_scraped_before_the_window_nothing_counts_from_zero(httpserver: HTTPServer) -> None:
    window_only = [(t, v) for t, v in grid(level(0), level(0.4)) if t >= SCOPE.window.start]
    tool = prometheus(httpserver, lambda _: [({"http_response_status_code": "500"}, window_only)])
    result = tool.run(bound("prometheus.error_rate_by_route", service="payment"), SCOPE)
    assert (result.signal, "nothing was measured before" in result.summary) == (0.0, True)


def test_a_store_that_went_down_half_a_minute_ago_is_down_not_a_little_lower(httpserver: HTTPServer) -> None:
    end = SCOPE.window.end
    tool = prometheus(httpserver, lambda _: [({}, [(t, 0.0 if t > end - 5 else v) for t, v in grid(level(1), level(1))])])
    result = tool.run(bound("prometheus.cache_up", cache="redis"), SCOPE)
    assert (result.signal, result.summary) == (1.0, "cache_up: down now, up before")


def test_a_version_that_appears_is_a_signal_and_the_one_that_was_there_is_none(httpserver: HTTPServer) -> None:
    old = ({"version": "1.4.2"}, grid(level(1), level(1)))
    new = ({"version": "1.4.3"}, [(t, 1.0) for t, _ in grid(level(1), level(1)) if t > SCOPE.window.start + 6])
    answers = [old]
    tool = prometheus(httpserver, lambda _: answers)
    query = bound("prometheus.version", service="cart")
    assert tool.run(query, SCOPE).signal == 0.0
    answers.append(new)
    result = tool.run(query, SCOPE)
    assert result.signal >= 0.5
    assert result.summary == "1.4.3 deployed (was 1.4.2)"


def test_a_route_first_called_in_the_window_is_no_slow_route(httpserver: HTTPServer) -> None:
    usual = ({"http_route": "/"}, grid(ripple(0.05, 0.01), ripple(0.05, 0.01)))
    rare = ({"http_route": "/orders"}, [(SCOPE.window.start + 4, 0.8)])
    tool = prometheus(httpserver, lambda _: [usual, rare])
    assert tool.run(bound("prometheus.latency_by_route", service="gateway"), SCOPE).signal < 0.2


def test_nothing_measured_is_no_signal(httpserver: HTTPServer) -> None:
    result = prometheus(httpserver, lambda _: []).run(bound("prometheus.disk", container="cart"), SCOPE)
    assert (result.signal, result.series) == (0.0, ())
    assert "no such series" in result.summary


def test_points_that_are_not_numbers_are_left_out(httpserver: HTTPServer) -> None:
    points = [(t, float("nan") if i % 3 else v) for i, (t, v) in enumerate(grid(level(1), level(1)))]
    [series] = prometheus(httpserver, lambda _: [({}, points)]).run(bound("prometheus.up", service="a"), SCOPE).series
    assert set(series.values) == {1.0}
    assert len(series.times) == len(series.values) < len(points)


def in_batches(answer: Callable[[str], Matrix]) -> Callable[[str], Matrix]:
    """Answers the readings that one request of a snapshot joins, each with its mark."""
    part = re.compile(
        r'label_replace\((?P<text>(?:(?!label_replace\().)*?), "revelio_reading", "(?P<mark>\d+)", "", ""\)(?: or |$)'
    )

    def together(query: str) -> Matrix:
        marked = [(answer(m["text"]), {"revelio_reading": m["mark"]}) for m in part.finditer(query)] or [(answer(query), {})]
        return [(labels | mark, points) for series, mark in marked for labels, points in series]

    return together


def test_a_snapshot_asks_for_several_signals_at_once_and_names_what_it_found(httpserver: HTTPServer) -> None:
    def answer(query: str) -> Matrix:
        if "container_cpu_usage_seconds_total" in query and "quota" not in query:
            return [({"container": c}, grid(level(0.1), level(0.1))) for c in ("cart", "redis")]
        if "http_client" in query and "_count" in query and "error_type" not in query:
            return [
                ({"service": "gateway", "server_address": "cart"}, grid(level(3), level(3))),
                ({"service": "broken"}, grid(level(3), level(3))),
            ]
        return []

    evidence = prometheus(httpserver, in_batches(answer)).snapshot(SCOPE)
    assert len(httpserver.log) <= 30
    assert evidence.entities == (Entity("container", "cart"), Entity("container", "redis"), Entity("edge", "gateway->cart"))
    assert {s.metric for s in evidence.series} == {"cpu", "edge_rate"}
    assert all(s.times[0] >= SCOPE.baseline.start and s.times[-1] <= SCOPE.window.end for s in evidence.series)


def test_a_signal_that_the_backend_refuses_costs_no_other(httpserver: HTTPServer) -> None:
    def answer(query: str) -> Matrix:
        if "container_memory" in query:
            raise ValueError("many-to-many matching not allowed")
        return [({"container": "cart"}, grid(level(0.1), level(0.1)))] if "container_threads" in query else []

    tool = prometheus(httpserver, in_batches(answer))
    evidence = tool.snapshot(SCOPE)
    assert {s.metric for s in evidence.series} == {"processes"}
    [note] = [note for note in tool.notes("shop") if "left out" in note]
    assert "memory" in note and "many-to-many" in note


def test_a_long_time_is_read_in_longer_steps(httpserver: HTTPServer) -> None:
    from revelio.tools.base import Scope
    from revelio.types import Window

    tool = prometheus(httpserver, lambda _: [])
    tool.run(bound("prometheus.up", service="a"), Scope("shop", Window(1e9, 1e9 + 7200), Window(1e9 - 36_000, 1e9)))
    [(request, _)] = httpserver.log
    assert (float(request.form["end"]) - float(request.form["start"])) / float(request.form["step"]) <= 600


def test_a_query_of_ones_own_runs_too(httpserver: HTTPServer) -> None:
    seen: list[str] = []

    def answer(query: str) -> Matrix:
        seen.append(query)
        return [({"a": "b"}, grid(level(1), level(100)))]

    own = Query(QueryTemplate("own-text", "prometheus", "mine", "", 'up{a="${b}"}'))
    result = prometheus(httpserver, answer).run(own, SCOPE)
    assert set(seen) == {'up{a="${b}"}'}
    assert result.signal == 1.0


def test_the_link_opens_the_same_query_at_the_windows_end(httpserver: HTTPServer) -> None:
    tool = prometheus(httpserver, lambda _: [])
    query = bound("prometheus.up", service='a" & b')
    link = tool.link(query, SCOPE)
    assert link is not None
    parts = urlsplit(link)
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == "http://prom.example/graph"
    params = parse_qs(parts.query)
    assert params["g0.expr"] == [tool.render(query, SCOPE)]
    assert params["g0.end_input"] == ["2023-11-14 22:13:20"]
    assert params["g0.range_input"] == ["90s"]


def test_without_a_base_address_there_is_no_link() -> None:
    assert Prometheus(spec("prometheus"), Backend(url="http://x"), QUICK).link(bound("prometheus.up", service="a"), SCOPE) is None


LIES = [
    b"[]",
    b"null",
    b'{"status":"success"}',
    b'{"status":"success","data":{"resultType":"vector","result":[]}}',
    b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{}}]}}',
    b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"many"]]}]}}',
    b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":5},"values":[[1,"1"]]}]}}',
    b'{"status":"success","data":{"resultType":"matrix","result":"none"}}',
]


@pytest.mark.parametrize("lie", LIES)
def test_a_lying_backend_is_an_error_of_the_source(httpserver: HTTPServer, lie: bytes) -> None:
    httpserver.expect_request("/api/v1/query_range").respond_with_data(lie, mimetype="application/json")
    tool = Prometheus(spec("prometheus"), Backend(url=httpserver.url_for("")), QUICK)
    with pytest.raises(SourceError, match="prometheus"):
        tool.run(bound("prometheus.up", service="a"), SCOPE)


def test_ping_tells_the_version_and_notices_another_program(httpserver: HTTPServer) -> None:
    httpserver.expect_ordered_request("/api/v1/status/buildinfo").respond_with_json(
        {"status": "success", "data": {"version": "2.42.0"}}
    )
    httpserver.expect_ordered_request("/api/v1/status/buildinfo").respond_with_json({"hello": "world"})
    tool = Prometheus(spec("prometheus"), Backend(url=httpserver.url_for("")), QUICK)
    assert tool.ping() == "Prometheus 2.42.0"
    with pytest.raises(SourceError, match="does not answer like Prometheus"):
        tool.ping()
