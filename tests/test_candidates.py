"""Candidates: every template bound to what exists, edges to edges that exist, in a stable order."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from revelio.candidates import candidates
from revelio.catalog import Catalog, ToolSpec, bundled_catalog
from revelio.types import Blank, Entity, QueryTemplate


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
