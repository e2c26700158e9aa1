"""Reading traces: self time, peers, errors, figures."""

from __future__ import annotations

import pytest

from revelio.tools.jaeger.traces import parse_traces
from revelio.tools.traces.model import figures
from revelio.types import Entity, SpanFigures
from tests.tools.jaeger.payload import FakeSpan, answer, shop_trace, trace


def test_self_time_leaves_out_what_children_cover_once() -> None:
    children = [
        FakeSpan("a", "first", 10, 20, "client"),
        FakeSpan("a", "overlapping", 20, 20, "client"),
        FakeSpan("a", "inside the other", 22, 3, "client"),
        FakeSpan("a", "outlives its parent", 90, 50, "client"),
    ]
    [parsed] = parse_traces(answer(trace(FakeSpan("a", "root", 0, 100, children=children), 1e9)))
    assert parsed.spans[0].self_ms == pytest.approx(100 - 30 - 10)
    assert parsed.duration_ms == pytest.approx(140, abs=0.1)


def test_calls_are_edges_and_everything_else_an_operation() -> None:
    [parsed] = parse_traces(answer(shop_trace(1e9)))
    assert [s.entity for s in parsed.spans] == [
        Entity("operation", "gateway: GET /cart"),
        Entity("edge", "gateway->cart"),
        Entity("operation", "cart: GET /carts/{session}"),
        Entity("edge", "cart->redis"),
    ]


@pytest.mark.parametrize(
    ("tags", "peer"),
    [
        ({"peer.service": "redis"}, "redis"),
        ({"server.address": "postgres", "http.url": "http://other/"}, "postgres"),
        ({"url.full": "http://cart:8000/carts/1"}, "cart"),
        ({"http.url": "http://[not an address"}, None),
        ({"db.system": "redis"}, None),
    ],
)
def test_a_call_without_answering_span_names_its_peer_by_tags(tags: dict[str, str | int | bool], peer: str | None) -> None:
    [parsed] = parse_traces(answer(trace(FakeSpan("a", "call", kind="client", tags=tags), 1e9)))
    assert parsed.spans[0].peer == peer


def test_the_answering_span_says_best_who_was_called() -> None:
    child = FakeSpan("cart-v2", "GET", 1, 2)
    [parsed] = parse_traces(answer(trace(FakeSpan("a", "call", 0, 5, "client", False, [child], {"peer.service": "cart"}), 1e9)))
    assert parsed.spans[0].peer == "cart-v2"


def test_figures_of_a_sample_are_scaled_to_the_whole() -> None:
    spans = [s for t in parse_traces(answer(*(shop_trace(1e9 + i, failed=i < 2) for i in range(10)))) for s in t.spans]
    carts = [s for s in spans if s.operation == "GET /carts/{session}"]
    found = figures(carts, {s.trace: 3.0 for s in carts})
    assert (found.count, found.errors) == (30, 6)
    assert found.median_ms == pytest.approx(8.0)
    assert found.self_ms == pytest.approx(6.0)
    assert figures([], {}) == SpanFigures()


def test_a_span_whose_parent_was_lost_is_drawn_as_a_root() -> None:
    payload = shop_trace(1e9)
    spans = payload["spans"]
    assert isinstance(spans, list)
    payload["spans"] = spans[2:]
    [parsed] = parse_traces(answer(payload))
    drawn = parsed.waterfall()
    assert [s.parent for s in drawn] == [None, drawn[0].id]


@pytest.mark.parametrize(
    "lie",
    [
        None,
        [],
        {},
        {"data": None},
        {"data": [{"traceID": "1"}]},
        {"data": [{"traceID": "1", "processes": {}, "spans": [{"traceID": "1", "spanID": "2", "processID": "p1"}]}]},
        {"data": [5]},
    ],
)
def test_what_is_no_traces_is_refused(lie: object) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        parse_traces(lie)


@pytest.mark.parametrize("start", [-1, "soon", None, True, float("nan"), 1e30])
def test_times_that_are_none_are_refused(start: object) -> None:
    payload = shop_trace(1e9)
    spans = payload["spans"]
    assert isinstance(spans, list)
    spans[0]["startTime"] = start
    with pytest.raises((TypeError, ValueError)):
        parse_traces(answer(payload))
