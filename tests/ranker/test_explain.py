"""Reasons name what was seen, in words that fit the kind of evidence."""

from __future__ import annotations

import re

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.catalog.candidates import candidates
from revelio.encoders.null_distribution import NullDistribution, NullDistributions
from revelio.encoders.query import QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.ranker.explain import factors
from revelio.ranker.scoring import Calibration, Logits, rank
from revelio.types import Blank, Factor, Query, QueryTemplate, Reading
from tests.ranker.conftest import labelled


def reasons(
    catalog: Catalog,
    kind: str,
    place: str,
    template: str,
    report: str | None = None,
    nulls: NullDistributions | None = None,
) -> dict[str, Factor]:
    """The factors that the query of a template at a place has under a network that knows nothing."""
    incident = labelled(5, kind, place).record.incident(report)
    queries = candidates(catalog, incident.evidence.entities)
    text = HashingEncoder(64)
    encoded = QueryEncoder(text, {}, {"cpu": 0.05}, nulls).encode(incident, queries, text.encode([incident.report])[0])
    tools, each, all_queries = (np.zeros(n, np.float32) for n in (len(encoded.tools), len(encoded.templates), len(queries)))
    logits = Logits(tools, each, all_queries, 0.0)
    index = next(i for i, q in enumerate(queries) if q.template.id == template and (not q.bindings or q.bindings[0][1] == place))
    return {f.name: f for f in factors(encoded, rank(encoded, logits, Calibration()), index, {"meters": "Meters"})}


def explained(
    queries: tuple[Query, ...], report: str, *, index: int = 0, kind: str = "none", place: str = "alpha"
) -> dict[str, Factor]:
    """The factors of one of these queries under a network that knows nothing."""
    incident = labelled(5, kind, place).record.incident(report)
    text = HashingEncoder(64)
    encoded = QueryEncoder(text, {}, {"cpu": 0.05}).encode(incident, queries, text.encode([incident.report])[0])
    tools, each, values = (np.zeros(n, np.float32) for n in (len(encoded.tools), len(encoded.templates), len(queries)))
    logits = Logits(tools, each, values, 0.0)
    return {f.name: f for f in factors(encoded, rank(encoded, logits, Calibration()), index, {"meters": "Meters"})}


def test_a_raised_metric_is_told_with_its_distance_and_its_standing(catalog: Catalog) -> None:
    values = " ".join(reasons(catalog, "hog", "gamma", "meters.cpu")["values"].because)
    assert re.match(r"(\d+|over 100)σ from baseline, largest deviation of 5 targets ", values), values
    assert "A metric of gamma is above its baseline, more than any other component" in values


def test_a_state_that_changed_is_told_as_a_change_not_as_a_distance(catalog: Catalog) -> None:
    values = " ".join(reasons(catalog, "stop", "beta", "states.now")["values"].because)
    assert "Changed during the incident" in values
    assert "σ" not in values


def test_a_place_that_the_report_names_is_told(catalog: Catalog) -> None:
    assert "The report mentions beta" in reasons(catalog, "hog", "beta", "meters.cpu", "the beta page is slow")["values"].because
    silent = reasons(catalog, "hog", "beta", "meters.cpu", "everything is slow")["values"].because
    assert not any("mentions" in fact for fact in silent)


def test_at_most_three_facts_weigh(catalog: Catalog) -> None:
    for kind, template in (("hog", "meters.cpu"), ("bug", "journal.errors"), ("stop", "states.now")):
        for factor in reasons(catalog, kind, "alpha", template).values():
            assert len(factor.because) <= 3


def test_a_query_without_a_place_has_no_facts_of_its_place(catalog: Catalog) -> None:
    assert reasons(catalog, "bug", "alpha", "journal.new")["values"].because == ()


@pytest.mark.parametrize(
    ("kind", "template", "fact"),
    [
        ("hog", "meters.cpu", "1 of 10 Meters queries is anomalous"),
        ("bug", "journal.new", "2 of 6 journal queries are anomalous"),
        ("none", "meters.cpu", "No anomaly in 10 Meters queries"),
        ("stop", "states.now", "1 of 5 states queries is anomalous"),
    ],
)
def test_the_tool_says_how_many_of_its_queries_are_anomalous(catalog: Catalog, kind: str, template: str, fact: str) -> None:
    assert reasons(catalog, kind, "alpha", template)["tool"].because == (fact,)


def test_a_tool_without_data_is_ranked_on_the_report_alone(catalog: Catalog) -> None:
    silent = QueryTemplate(
        "m.lag", "meters", "Lag of ${service}", "", "", (Blank("service", "service"),), (Reading("series", "lag"),)
    )
    told = explained((Query(silent, (("service", "alpha"),)),), "the page is slow")
    assert told["tool"].because == ("No Meters data in the snapshot; ranked on the report alone",)


def test_a_single_query_of_a_tool_is_told_in_the_singular(catalog: Catalog) -> None:
    busy = next(t for t in catalog.templates if t.id == "meters.cpu")
    told = explained((Query(busy, (("container", "gamma"),)),), "slow", kind="hog", place="gamma")
    assert told["tool"].because == ("1 of 1 Meters query is anomalous",)
    assert "largest deviation" not in " ".join(told["values"].because)


def test_the_three_best_text_matches_are_told_by_their_place() -> None:
    titles = ("memory of a container", "memory use", "processor load", "disk space")
    templates = (QueryTemplate(f"t.{i}", "t", title, "", "") for i, title in enumerate(titles))
    queries = tuple(Query(t) for t in templates)
    matches = [told["template"].because for i in range(4) for told in [explained(queries, "memory use of a container", index=i)]]
    best = sorted(fact for facts in matches for fact in facts if "match" in fact)
    assert best == [f"{place} text match with the report" for place in ("Best", "Second-best", "Third-best")]


def test_what_hardly_any_other_cause_shows_is_told(catalog: Catalog) -> None:
    seldom = NullDistributions({"meters.cpu": NullDistribution(49, ())})
    told = " ".join(reasons(catalog, "hog", "gamma", "meters.cpu", nulls=seldom)["template"].because)
    assert re.search(
        r"Peak deviation (\d+|over 100)σ from baseline; 1 in 50 incidents with another cause deviates this much", told
    ), told
    usual = NullDistributions({"meters.cpu": NullDistribution(49, (9.0,) * 30)})
    assert "another cause" not in " ".join(reasons(catalog, "hog", "gamma", "meters.cpu", nulls=usual)["template"].because)


@pytest.mark.parametrize("kind", ["none"])
def test_calm_evidence_is_told_as_calm(catalog: Catalog, kind: str) -> None:
    assert "No anomaly" in reasons(catalog, kind, "alpha", "states.now")["template"].because


def test_the_facts_of_a_call_speak_of_who_is_called(catalog: Catalog) -> None:
    edge = QueryTemplate(
        "t.edge", "t", "Calls", "", "", (Blank("service", "service"), Blank("peer", "service"), Blank("capture", "capture"))
    )
    queries = (Query(edge, (("capture", "wire"), ("peer", "gamma"), ("service", "alpha"))),)
    incident = labelled(5, "hog", "gamma").record.incident("gamma is slow")
    text = HashingEncoder(64)
    encoded = QueryEncoder(text, {}, {"cpu": 0.05}).encode(incident, queries, text.encode([incident.report])[0])
    logits = Logits(np.zeros(1, np.float32), np.zeros(1, np.float32), np.zeros(1, np.float32), 0.0)
    told = factors(encoded, rank(encoded, logits, Calibration()), 0)[-1].because
    assert "A metric of gamma is above its baseline, more than any other component" in told
    assert "The report mentions alpha to gamma" in told
