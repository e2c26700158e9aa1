"""What a query is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from revelio.types import (
    Blank,
    Entity,
    Evidence,
    Feature,
    Incident,
    Query,
    QueryTemplate,
    RankedQuery,
    Recommendation,
    Result,
    Series,
    Window,
    fill,
)

EDGE = QueryTemplate(
    "e", "t", "Calls from ${service} to ${peer}", "", "", (Blank("service", "service"), Blank("peer", "service"))
)


def test_a_query_is_named_by_its_filled_title_and_its_entities_in_the_templates_order() -> None:
    query = Query(EDGE, (("peer", "cart"), ("service", "gateway")))
    assert query.title == "Calls from gateway to cart"
    assert query.entities == (Entity("service", "gateway"), Entity("service", "cart"))


def test_the_id_depends_on_template_and_bindings_alone() -> None:
    one = Query(EDGE, (("peer", "cart"), ("service", "gateway")))
    assert one.id == Query(EDGE, (("peer", "cart"), ("service", "gateway"))).id
    assert one.id != Query(EDGE, (("peer", "gateway"), ("service", "cart"))).id
    assert one.id.startswith("e-")


def test_fill_leaves_holes_without_a_binding() -> None:
    assert fill("${a} ${b}", (("a", "x"),)) == "x ${b}"


@pytest.mark.parametrize(("no_fault", "likely"), [(0.4, False), (0.5, True), (0.9, True)])
def test_an_answer_says_that_nothing_is_wrong_only_where_a_tool_showed_something(no_fault: float, likely: bool) -> None:
    blind = Evidence(Window(60.0, 90.0), Window(0.0, 60.0), missing=("jaeger",))
    seen = replace(blind, features=(Feature(Entity("service", "cart"), "errors", 0.0, 0.0),))
    asked = RankedQuery(Query(EDGE, (("peer", "cart"), ("service", "gateway"))), 1, 1.0, ())
    answer = Recommendation(Incident("i", "shop", "it is slow", 90.0, seen), (asked,), no_fault, "m")
    assert answer.no_fault_likely == likely
    assert not replace(answer, incident=replace(answer.incident, evidence=blind)).no_fault_likely


@pytest.mark.parametrize(
    ("no_fault", "signal", "outcome"),
    [(0.59, 0.8, "fault"), (0.59, 0.2, "no_fault"), (0.95, 0.8, "no_fault"), (0.2, 0.1, "fault")],
)
def test_what_a_run_showed_counts_in_the_verdict(no_fault: float, signal: float, outcome: str) -> None:
    seen = Evidence(Window(60.0, 90.0), Window(0.0, 60.0), features=(Feature(Entity("service", "cart"), "errors", 0.0, 0.0),))
    ran = RankedQuery(Query(EDGE), 1, 1.0, (), result=Result("", signal, ""))
    answer = Recommendation(Incident("i", "shop", "it is slow", 90.0, seen), (ran,), no_fault, "m")
    assert answer.outcome == outcome
    failed = replace(ran, result=Result.failed("no answer"))
    assert replace(answer, queries=(failed,)).outcome == replace(answer, queries=(replace(ran, result=None),)).outcome


def test_a_machine_whose_users_cannot_be_seen_is_not_called_healthy() -> None:
    host = Series(Entity("host", "node-1"), "host_cpu", "of cores", (1.0,), (0.1,))
    service = Series(Entity("service", "web"), "request_rate", "req/s", (1.0,), (9.0,))
    only_host = Evidence(Window(60.0, 90.0), Window(0.0, 60.0), series=(host,), sources=("prometheus",))
    asked = RankedQuery(Query(EDGE), 1, 1.0, ())
    answer = Recommendation(Incident("i", "shop", "it is slow", 90.0, only_host), (asked,), 0.7, "m")
    assert answer.outcome == "no_evidence"
    both = replace(only_host, series=(host, service))
    assert replace(answer, incident=replace(answer.incident, evidence=both)).outcome == "no_fault"
    high = replace(asked, result=Result("", 0.9, ""))
    assert replace(answer, queries=(high,)).outcome == "fault"
