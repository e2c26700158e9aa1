"""Candidates as arrays: what each would read, and how the report speaks of it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from revelio.encoders.null_distribution import NullDistribution, NullDistributions
from revelio.encoders.query import FEATURES, EncodedIncident, QueryEncoder, with_rarity
from revelio.encoders.report import CachingEncoder, HashingEncoder
from revelio.types import Blank, Entity, Evidence, Finding, Incident, Query, QueryTemplate, Reading, Series, Window

TIMES = tuple(float(t) for t in range(0, 40, 2))
RATE = QueryTemplate("p.rate", "p", "Requests of ${service}", "", "", (Blank("service", "service"),), (Reading("series", "m"),))
EDGE = QueryTemplate(
    "j.edge", "j", "Calls", "", "", (Blank("service", "service"), Blank("peer", "service")), (Reading("series", "m", "both"),)
)
LOGS = QueryTemplate("e.logs", "e", "Errors of ${service}", "", "", (Blank("service", "service"),), (Reading("logs", "error"),))
ALL = QueryTemplate("p.all", "p", "Requests in all", "", "", (), (Reading("series", "m"), Reading("series", "none")))


def series(name: str, before: float, now: float) -> Series:
    return Series(Entity("service", name), "m", "", TIMES, tuple(before if t < 20 else now for t in TIMES))


EVIDENCE = Evidence(
    Window(20.0, 40.0),
    Window(0.0, 20.0),
    (Entity("service", "cart"), Entity("service", "orderStore"), Entity("edge", "cart->orderStore")),
    (series("cart", 1.0, 4.0), series("orderStore", 1.0, 1.3)),
)
QUERIES = (
    Query(RATE, (("service", "cart"),)),
    Query(RATE, (("service", "orderStore"),)),
    Query(EDGE, (("peer", "orderStore"), ("service", "cart"))),
    Query(LOGS, (("service", "cart"),)),
    Query(ALL),
)
INCIDENT = Incident("i", "shop", "Orders in the carts are gone", 40.0, EVIDENCE)


def encode(
    incident: Incident = INCIDENT, queries: tuple[Query, ...] = QUERIES, by: QueryEncoder | None = None
) -> EncodedIncident:
    encoder = by or fresh()
    return encoder.encode(incident, queries, encoder.text.encode([incident.report])[0])


def fresh() -> QueryEncoder:
    return QueryEncoder(CachingEncoder(HashingEncoder()), {}, {})


def row(encoded: EncodedIncident, index: int) -> dict[str, float]:
    return dict(zip(FEATURES, encoded.features[index].tolist(), strict=True))


def test_a_query_reads_its_most_specific_entity_that_has_a_figure() -> None:
    found = [row(encode(), i) for i in range(3)]
    assert found[0]["worst"] > found[1]["worst"] > 0
    assert found[2]["worst"] == found[1]["worst"]  # the edge has no figure, so the callee's holds
    assert [r["best"] for r in found[:2]] == [1.0, 0.0]
    assert found[2]["from_series_up"] == found[0]["series_up"]


def test_a_query_without_an_entity_reads_the_furthest_of_all() -> None:
    encoded = encode()
    everywhere = row(encoded, 4)
    assert everywhere["worst"] == row(encoded, 0)["worst"]
    assert everywhere["bound"] == everywhere["name_similarity"] == everywhere["mentioned"] == 0.0


def test_logs_that_hold_nothing_are_calm_unless_their_tool_is_silent() -> None:
    assert row(encode(), 3)["present"] == 1.0
    silent = replace(INCIDENT, evidence=replace(EVIDENCE, missing=("e",)))
    assert row(encode(silent), 3)["present"] == 0.0


def test_what_a_template_seldom_reads_surprises() -> None:
    nulls = NullDistributions({RATE.id: NullDistribution(99, (0.1,)), LOGS.id: NullDistribution(99, ())})
    found = encode(by=QueryEncoder(CachingEncoder(HashingEncoder()), {}, {}, nulls))
    assert row(found, 0)["rarity"] == pytest.approx(1.0)
    assert [row(found, i)["rarity"] for i in (1, 3)] == [row(found, 1)["rarity"], 0.0]
    assert np.array_equal(with_rarity(encode(), nulls).features, found.features)


def test_having_looked_before_changes_no_figure() -> None:
    encoder = fresh()
    encoder.prepare(INCIDENT.evidence, QUERIES)
    assert np.array_equal(encode(by=encoder).features, encode().features)


def test_a_report_mentions_the_words_of_a_name_plural_or_not() -> None:
    assert [row(encode(), i)["mentioned"] for i in range(3)] == [1.0, 0.5, 1.0]


def test_a_finding_marks_its_query_and_all_that_ask_of_the_same_component() -> None:
    found = encode(replace(INCIDENT, findings=(Finding(RATE.id, (("service", "cart"),), 0.75),)))
    assert [row(found, i)["run"] for i in range(5)] == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert [row(found, i)["near_signal"] for i in range(5)] == [0.75, 0.0, 0.0, 0.75, 0.0]


def test_the_order_of_candidates_does_not_matter() -> None:
    order = list(range(len(QUERIES)))
    Random(3).shuffle(order)
    shuffled = encode(queries=tuple(QUERIES[i] for i in order))
    np.testing.assert_allclose(shuffled.features, encode().features[order], atol=1e-6)
    assert [shuffled.templates[t].id for t in shuffled.template_of] == [QUERIES[i].template.id for i in order]


def test_what_is_remembered_of_candidates_and_evidence_changes_no_figure() -> None:
    encoder = fresh()
    calm = replace(INCIDENT, evidence=replace(EVIDENCE, series=(series("cart", 1.0, 1.0),)))
    told = replace(INCIDENT, report="The order store", findings=(Finding(RATE.id, (("service", "cart"),), 0.75),))
    for incident in (INCIDENT, told, calm, INCIDENT):
        for queries in (QUERIES, QUERIES[:2]):
            expected = encode(incident, queries)
            found = encode(incident, queries, by=encoder)
            np.testing.assert_array_equal(found.features, expected.features)
            np.testing.assert_array_equal(found.components, expected.components)


def test_no_candidates_make_empty_arrays() -> None:
    assert encode(queries=()).features.shape == (0, len(FEATURES))
