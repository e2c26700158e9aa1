"""The map names every call, marks what fails, the suspect, and what suffers from it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from revelio.types import Entity, Evidence, SpanFigures, SpanStat, Window
from webui.views.service_map import affected, service_map

NAMES = st.sampled_from("abcdefg")
EDGES = st.lists(st.tuples(NAMES, NAMES).filter(lambda e: e[0] != e[1]), unique=True, max_size=25)


def seen(*edges: str, services: tuple[str, ...] = (), spans: tuple[SpanStat, ...] = ()) -> Evidence:
    entities = tuple(Entity("edge", e) for e in edges) + tuple(Entity("service", s) for s in services)
    return Evidence(Window(30, 60), Window(0, 30), entities, spans=spans)


@given(EDGES)
def test_the_same_calls_are_the_same_map_in_any_order(edges: list[tuple[str, str]]) -> None:
    graphs = [service_map(seen(*(f"{a}->{b}" for a, b in some))) for some in (edges, edges[::-1])]
    assert graphs[0] == graphs[1]
    assert (graphs[0] is None) == (not edges)


def test_a_component_without_calls_is_listed_with_its_parts_and_not_drawn() -> None:
    alone = (Entity("redis_server", "cache"), Entity("operation", "cache: GET"))
    graph = service_map(Evidence(Window(30, 60), Window(0, 30), alone))
    assert graph is not None
    assert [(n.name, n.role, n.parts) for n in graph.nodes] == [("cache", "redis server", ("GET",))]
    assert json.loads(graph.data)["nodes"] == []


def test_a_cycle_and_a_call_to_itself_are_no_trouble() -> None:
    graph = service_map(seen("a->b", "b->a", "a->a", services=("a", "b", "idle")))
    assert graph is not None
    assert [(c.caller, c.callee) for c in graph.calls] == [("a", "b"), ("b", "a")]
    assert {n.name for n in graph.nodes} == {"a", "b", "idle"}


def test_only_calls_that_fail_more_than_before_are_marked() -> None:
    spans = (
        SpanStat(Entity("edge", "a->b"), "a", SpanFigures(10, 4, 1.0, 20.0, 1.0), SpanFigures(20, 0)),
        SpanStat(Entity("edge", "a->c"), "a", SpanFigures(10, 4), SpanFigures(20, 8)),
        SpanStat(Entity("edge", "a->d"), "a", SpanFigures(0, 0), SpanFigures(20, 0)),
    )
    graph = service_map(seen("a->b", "a->c", "a->d", "a->e", services=("a",), spans=spans))
    assert graph is not None
    assert [(c.callee, c.count, c.failed, c.failing) for c in graph.calls] == [
        ("b", 10, 0.4, True),
        ("c", 10, 0.4, False),
        ("d", 0, None, False),
        ("e", None, None, False),
    ]
    assert [n.name for n in graph.nodes if not n.inside] == ["b", "c", "d", "e"]


def test_only_what_does_worse_on_its_way_to_the_suspect_is_affected() -> None:
    edges = [("web", "cart"), ("cart", "redis"), ("web", "search"), ("search", "redis"), ("redis", "disk"), ("admin", "cart")]
    assert affected(edges, ["redis"]) == {"web", "cart", "search", "admin"}
    spans = (
        SpanStat(Entity("edge", "web->cart"), "web", SpanFigures(10, 0, 1.0, 900.0), SpanFigures(20, 0, 1.0, 90.0)),
        SpanStat(Entity("edge", "cart->redis"), "cart", SpanFigures(10, 4), SpanFigures(20, 0)),
        SpanStat(Entity("edge", "search->redis"), "search", SpanFigures(10, 0, 1.0, 95.0), SpanFigures(20, 0, 1.0, 90.0)),
    )
    graph = service_map(seen(*(f"{a}->{b}" for a, b in edges), spans=spans), ["redis"])
    assert graph is not None
    assert {n.name: n.mark for n in graph.nodes if n.mark} == {"redis": "suspect", "cart": "affected", "web": "affected"}


def test_a_tool_that_watches_is_no_component() -> None:
    watched = (Entity("capture", "tcpdump"), Entity("service", "cart"))
    graph = service_map(Evidence(Window(30, 60), Window(0, 30), watched))
    assert graph is not None
    assert [n.name for n in graph.nodes] == ["cart"]


def test_an_arrow_says_rate_errors_and_latency() -> None:
    spans = (SpanStat(Entity("edge", "a->b"), "a", SpanFigures(60, 15, 1.0, 20.0, 1.0), SpanFigures(20, 0)),)
    graph = service_map(seen("a->b", spans=spans))
    assert graph is not None
    assert json.loads(graph.data)["calls"] == [{"from": "a", "to": "b", "failing": True, "words": "2/s · 25 % errors · 20 ms"}]
