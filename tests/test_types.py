"""What a query is."""

from __future__ import annotations

from revelio.types import Blank, Entity, Query, QueryTemplate, fill

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
