"""A call graph is drawn from callers to callees, whatever its shape."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from revelio.types import Entity, Evidence, SpanFigures, SpanStat, Window
from webui.views.callgraph import call_graph, layout

NAMES = st.sampled_from("abcdefg")
EDGES = st.lists(st.tuples(NAMES, NAMES).filter(lambda e: e[0] != e[1]), unique=True, max_size=25)


def seen(*edges: str, services: tuple[str, ...] = (), spans: tuple[SpanStat, ...] = ()) -> Evidence:
    entities = tuple(Entity("edge", e) for e in edges) + tuple(Entity("service", s) for s in services)
    return Evidence(Window(30, 60), Window(0, 30), entities, spans=spans)


def test_callers_stand_left_of_what_they_call() -> None:
    places = layout("abcd", [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")])
    assert places["a"][0] < places["b"][0] < places["c"][0] < places["d"][0]


def test_a_long_call_passes_beside_the_parts_in_its_way() -> None:
    places = layout("abc", [("a", "b"), ("b", "c"), ("a", "c")])
    passed = places[("a", "c", 1)]
    assert passed[0] == places["b"][0]
    assert passed[1] != places["b"][1]


@given(EDGES)
def test_every_part_has_a_place_of_its_own(edges: list[tuple[str, str]]) -> None:
    names = sorted({n for e in edges for n in e})
    if names:
        places = layout(names, edges)
        assert set(names) <= set(places)
        assert len(set(places.values())) == len(places)


@given(EDGES)
def test_the_same_calls_are_drawn_the_same_in_any_order(edges: list[tuple[str, str]]) -> None:
    graphs = [call_graph(seen(*(f"{a}->{b}" for a, b in some))) for some in (edges, edges[::-1])]
    assert graphs[0] == graphs[1]
    assert (graphs[0] is None) == (not edges)


def test_a_cycle_and_a_call_to_itself_are_no_trouble() -> None:
    graph = call_graph(seen("a->b", "b->a", "a->a", services=("a", "b", "idle")))
    assert graph is not None
    assert [(c.caller, c.callee) for c in graph.calls] == [("a", "b"), ("b", "a")]
    assert {n.name for n in graph.nodes} == {"a", "b", "idle"}


def test_only_calls_that_fail_more_than_before_are_marked() -> None:
    spans = (
        SpanStat(Entity("edge", "a->b"), "a", SpanFigures(10, 4, 1.0, 20.0, 1.0), SpanFigures(20, 0)),
        SpanStat(Entity("edge", "a->c"), "a", SpanFigures(10, 4), SpanFigures(20, 8)),
        SpanStat(Entity("edge", "a->d"), "a", SpanFigures(0, 0), SpanFigures(20, 0)),
    )
    graph = call_graph(seen("a->b", "a->c", "a->d", "a->e", services=("a",), spans=spans))
    assert graph is not None
    assert [(c.callee, c.count, c.failed, c.failing) for c in graph.calls] == [
        ("b", 10, 0.4, True),
        ("c", 10, 0.4, False),
        ("d", 0, None, False),
        ("e", None, None, False),
    ]
    assert [n.name for n in graph.nodes if not n.inside] == ["b", "c", "d", "e"]
