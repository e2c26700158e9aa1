"""Candidates: every template bound to what exists, edges to edges that exist, in a stable order."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from revelio.catalog import Catalog, ToolSpec, bundled_catalog
from revelio.catalog.candidates import MOST, Inventory, candidates, inventory, more_than, not_asked, within
from revelio.types import Blank, Entity, Evidence, LogPattern, QueryTemplate, Reading, Series, SpanFigures, SpanStat, Window


def catalog(*templates: QueryTemplate) -> Catalog:
    return Catalog((ToolSpec("t", "t", "", templates),))


def template(identity: str, **blanks: str) -> QueryTemplate:
    return QueryTemplate(identity, "t", identity, "", "", tuple(Blank(n, k) for n, k in blanks.items()))


ENTITIES = (
    Entity("service", "gateway"),
    Entity("service", "cart"),
    Entity("container", "cart"),
    Entity("edge", "gateway->cart"),
    Entity("edge", "cart->redis"),
    Entity("operation", "cart: GET /carts"),
)


def bindings(found: Catalog, entities: tuple[Entity, ...] = ENTITIES) -> list[dict[str, str]]:
    return [dict(q.bindings) for q in candidates(found, entities)]


def test_a_blank_is_bound_to_every_entity_of_its_kind() -> None:
    assert bindings(catalog(template("a", service="service"))) == [{"service": "cart"}, {"service": "gateway"}]
    assert bindings(catalog(template("a", service="container"))) == [{"service": "cart"}]


def test_service_and_peer_are_bound_to_edges_that_exist() -> None:
    assert bindings(catalog(template("a", service="service", peer="service"))) == [
        {"service": "cart", "peer": "redis"},
        {"service": "gateway", "peer": "cart"},
    ]


def test_two_other_blanks_are_bound_to_all_pairs() -> None:
    assert len(bindings(catalog(template("a", one="service", two="service")))) == 4


def test_a_template_without_blanks_is_asked_once_and_one_without_entities_never() -> None:
    assert bindings(catalog(template("a"), template("b", table="table"))) == [{}]
    assert bindings(catalog(template("a", service="service", peer="service")), ENTITIES[:3]) == []


def test_an_edge_label_without_an_arrow_is_left_out() -> None:
    assert bindings(catalog(template("a", service="service", peer="service")), (Entity("edge", "gateway"), ENTITIES[4])) == [
        {"service": "cart", "peer": "redis"}
    ]


def test_a_name_with_an_arrow_in_it_splits_once() -> None:
    odd = (Entity("edge", "a->b->c"),)
    assert bindings(catalog(template("a", service="service", peer="service")), odd) == [{"service": "a", "peer": "b->c"}]


@given(st.randoms(use_true_random=False))
def test_the_order_of_entities_and_repetitions_do_not_matter(random: Random) -> None:
    shuffled = [*ENTITIES, *ENTITIES]
    random.shuffle(shuffled)
    assert candidates(bundled_catalog(), shuffled) == candidates(bundled_catalog(), ENTITIES)


def test_candidates_of_the_bundled_catalog_have_distinct_ids() -> None:
    found = candidates(bundled_catalog(), ENTITIES)
    assert len({q.id for q in found}) == len(found) > 40


def live(*series: tuple[str, Entity], sources: tuple[str, ...] = ("prometheus",), spans: tuple[SpanStat, ...] = ()) -> Evidence:
    """Evidence of a live system, whose sources are known."""
    measured = tuple(Series(entity, metric, "", (1.0,), (1.0,)) for metric, entity in series)
    entities = (*(e for _, e in series), *(s.entity for s in spans), *(Entity("service", s.service) for s in spans))
    return Evidence(Window(60.0, 90.0), Window(0.0, 60.0), entities=entities, series=measured, spans=spans, sources=sources)


def asked(evidence: Evidence) -> set[str]:
    return {q.title for q in candidates(bundled_catalog(), inventory(evidence))}


def test_of_a_live_system_only_what_was_measured_of_an_entity_is_asked() -> None:
    cart, redis = Entity("container", "cart"), Entity("container", "redis")
    titles = asked(live(("cpu", cart), ("cpu", redis), ("memory_of_limit", cart)))
    assert titles == {"CPU use of cart", "CPU use of redis", "Memory use of cart against its limit"}


def test_a_source_that_is_not_connected_is_asked_nothing() -> None:
    edge = SpanStat(Entity("edge", "a->b"), "a", SpanFigures(count=3), SpanFigures(count=3))
    with_traces = asked(live(("request_rate", Entity("service", "a")), sources=("jaeger", "prometheus"), spans=(edge,)))
    without = asked(live(("request_rate", Entity("service", "a")), spans=(edge,)))
    assert without == {"Request rate of a"}
    assert without < with_traces
    assert not any(title.endswith(" b") and "a" not in title.split() for title in with_traces), "nothing of b itself was seen"


def test_failed_spans_are_asked_for_only_where_some_span_failed() -> None:
    healthy = SpanStat(Entity("operation", "a: GET /"), "a", SpanFigures(5), SpanFigures(30))
    failing = SpanStat(Entity("operation", "b: GET /"), "b", SpanFigures(5), SpanFigures(30, errors=1))
    there = inventory(live(sources=("jaeger",), spans=(healthy, failing)))
    found = {(q.template.id, name) for q in candidates(bundled_catalog(), there) for _, name in q.bindings}
    assert ("jaeger.slow_operation", "a: GET /") in found
    assert ("jaeger.error_operation", "a: GET /") not in found
    assert ("jaeger.error_operation", "b: GET /") in found


def test_lines_of_a_level_are_asked_for_only_where_some_were_logged() -> None:
    sources = [Entity("log_source", name) for name in ("cart", "orders")]
    lines = (LogPattern(sources[0], "INFO", "stored", 5, 5, 60.0), LogPattern(sources[1], "ERROR", "not stored", 0, 2, 60.0))
    there = inventory(replace(live(sources=("loki",)), entities=tuple(sources), logs=lines))
    found = {(q.template.id, name) for q in candidates(bundled_catalog(), there) for _, name in q.bindings}
    assert ("elasticsearch.errors", "orders") in found, "they may have stopped"
    assert ("elasticsearch.errors", "cart") not in found
    assert ("elasticsearch.log_rate", "cart") in found
    assert not {name for name, _ in found} & {"elasticsearch.new_patterns", "elasticsearch.new_patterns_of"}, "no pattern is new"


def test_an_answer_says_what_was_not_asked_and_why() -> None:
    told = not_asked(bundled_catalog(), live(("cpu", Entity("container", "cart"))))
    assert "Jaeger is not connected: 10 of its 10 questions are not asked" in told
    assert any(sentence.startswith("Prometheus holds nothing that they read") for sentence in told)
    recorded = Evidence(Window(60.0, 90.0), Window(0.0, 60.0), entities=(Entity("container", "cart"),))
    assert not_asked(bundled_catalog(), recorded) == ()


def test_a_recording_that_does_not_say_what_its_sources_hold_is_asked_what_the_testbed_has() -> None:
    titles = {q.title for q in candidates(bundled_catalog(), [Entity("service", "cart")])}
    assert "Request rate of cart" in titles
    assert "Heap of cart" not in titles


def test_with_very_many_entities_each_template_keeps_the_same_number_first_by_name() -> None:
    many = tuple(Entity("service", f"s{n:06d}") for n in range(MOST))
    small, large, pairs = template("small"), template("large", service="service"), template("pairs", one="service", two="service")
    found = candidates(catalog(small, large, pairs), many)
    counts = Counter(query.template.id for query in found)
    assert len(found) <= MOST
    assert counts["small"] == 1
    assert counts["large"] == counts["pairs"] == (MOST - 1) // 2
    assert found[1].bindings == (("service", "s000000"),)


def test_one_template_may_take_what_the_others_leave() -> None:
    some = tuple(Entity("service", f"s{n:06d}") for n in range(MOST - 1))
    assert len(candidates(catalog(template("a"), template("b", service="service")), some)) == MOST


def test_counting_stops_at_the_limit_and_agrees_with_what_can_be_asked() -> None:
    some = Inventory(frozenset(Entity("service", f"s{n}") for n in range(10)))
    known = catalog(template("a"), template("b", service="service"))
    assert more_than(known, some, 10)
    assert not more_than(known, some, 11)
    read = replace(template("b", service="service"), reads=(Reading("series", "cpu"),))
    held = replace(some, sources=None, held=frozenset({("cpu", "s3")}))
    assert len(candidates(catalog(read), held)) == 1
    assert not more_than(catalog(read), held, 1)


def test_groups_are_taken_while_there_is_room_and_the_first_one_always() -> None:
    known = catalog(template("a", service="service"), template("b", service="service"))
    groups = [[Entity("service", f"s{n}"), Entity("service", f"t{n}")] for n in range(5)]
    everything = Inventory(frozenset(itertools.chain(*groups)))
    assert within(known, everything, groups, 9) == frozenset([*groups[0], *groups[1]])
    assert within(known, everything, groups, 1) == frozenset(groups[0])
    assert within(known, everything, [], 9) == frozenset()
