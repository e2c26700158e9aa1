"""Reasons name what was seen, in words that fit the kind of evidence."""

from __future__ import annotations

import numpy as np
import pytest

from revelio.candidates import candidates
from revelio.catalog import Catalog
from revelio.encoders.null_distribution import NullDistribution, NullDistributions
from revelio.encoders.query import QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.ranker.explain import factors
from revelio.ranker.scoring import Calibration, Logits, rank
from revelio.types import Blank, Factor, Query, QueryTemplate
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
    return {f.name: f for f in factors(encoded, rank(encoded, logits, Calibration()), index)}


def test_a_raised_metric_is_told_with_its_distance_and_its_standing(catalog: Catalog) -> None:
    values = " ".join(reasons(catalog, "hog", "gamma", "meters.cpu")["values"].because)
    assert "times its usual variation away from normal, the largest of 5" in values
    assert "a metric of gamma rose, more than anywhere else" in values


def test_a_state_that_changed_is_told_as_a_change_not_as_a_distance(catalog: Catalog) -> None:
    values = " ".join(reasons(catalog, "stop", "beta", "states.now")["values"].because)
    assert "it shows a change during the incident" in values
    assert "variation" not in values


def test_a_place_that_the_report_names_is_told(catalog: Catalog) -> None:
    assert "the report speaks of beta" in reasons(catalog, "hog", "beta", "meters.cpu", "the beta page is slow")["values"].because
    silent = reasons(catalog, "hog", "beta", "meters.cpu", "everything is slow")["values"].because
    assert not any("speaks" in fact for fact in silent)


def test_at_most_three_facts_weigh(catalog: Catalog) -> None:
    for kind, template in (("hog", "meters.cpu"), ("bug", "journal.errors"), ("stop", "states.now")):
        for factor in reasons(catalog, kind, "alpha", template).values():
            assert len(factor.because) <= 3


def test_a_query_without_a_place_has_no_facts_of_its_place(catalog: Catalog) -> None:
    assert reasons(catalog, "bug", "alpha", "journal.new")["values"].because == ()


def test_the_tool_says_how_many_of_its_questions_would_show_something(catalog: Catalog) -> None:
    assert reasons(catalog, "hog", "alpha", "meters.cpu")["tool"].because == (
        "1 of 2 questions for meters would show something out of the ordinary",
    )


def test_what_hardly_any_other_cause_shows_is_told(catalog: Catalog) -> None:
    seldom = NullDistributions({"meters.cpu": NullDistribution(49, ())})
    told = " ".join(reasons(catalog, "hog", "gamma", "meters.cpu", nulls=seldom)["template"].because)
    assert "as in one of 50 incidents with other causes" in told
    usual = NullDistributions({"meters.cpu": NullDistribution(49, (9.0,) * 30)})
    assert "other causes" not in " ".join(reasons(catalog, "hog", "gamma", "meters.cpu", nulls=usual)["template"].because)


@pytest.mark.parametrize("kind", ["none"])
def test_calm_evidence_is_told_as_calm(catalog: Catalog, kind: str) -> None:
    assert "all that it would show is as before" in reasons(catalog, kind, "alpha", "states.now")["template"].because


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
    assert "a metric of gamma rose, more than anywhere else" in told
    assert "the report speaks of alpha to gamma" in told
