"""The order of a ranking."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.catalog.candidates import candidates
from revelio.encoders.query import QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.ranker.scoring import OPEN_SHARE, RUN_PENALTY, Calibration, Logits, Ranking, cap_uncovered_metrics, penalized, rank
from revelio.types import Blank, Query, QueryTemplate, Reading
from tests.ranker.conftest import labelled

FIRST, OTHER = (QueryTemplate(name, "t", name, "", "") for name in ("t.a", "t.b"))
SCORED = (
    (Query(OTHER, (("service", "x"),)), -1.0),
    (Query(FIRST, (("service", "z"),)), -2.0),
    (Query(OTHER, (("service", "a"),)), -2.0),
    (Query(FIRST, (("service", "b"),)), -2.0),
    (Query(FIRST, (("service", "c"),)), -np.inf),
    (Query(FIRST, (("service", "a"),)), -np.inf),
)


def test_the_most_probable_comes_first_and_ties_go_by_template_and_bindings_however_they_were_given() -> None:
    expected = [SCORED[i][0] for i in (0, 3, 1, 2, 5, 4)]
    for given in permutations(SCORED):
        queries = tuple(q for q, _ in given)
        scores, none = np.array([s for _, s in given], dtype=np.float32), np.zeros(len(given), dtype=np.float32)
        ranking = Ranking(queries, none, none, scores, 0.0)
        assert [queries[i] for i in ranking.order()] == expected
        for k in range(1, 8):
            assert [queries[i] for i in ranking.order(k)] == expected[:k]


def test_nothing_to_rank_has_an_empty_order() -> None:
    none = np.zeros(0, dtype=np.float32)
    assert Ranking((), none, none, none, 1.0).order().tolist() == []


def test_each_query_that_was_run_and_did_not_show_the_cause_casts_doubt_on_its_tool(catalog: Catalog) -> None:
    incident = labelled(5, "hog", "alpha").record.incident("it is slow")
    queries = candidates(catalog, incident.evidence.entities)
    text = HashingEncoder(64)
    encoded = QueryEncoder(text, {}, {}).encode(incident, queries, text.encode([incident.report])[0])
    assert len(encoded.tools) > 1, "one tool has nobody to lose to"

    tool, template, value = (np.zeros(n, np.float32) for n in (len(encoded.tools), len(encoded.templates), len(queries)))
    before = rank(encoded, Logits(tool, template, value, 0.0), Calibration())

    def odds(*failed: int) -> float:
        """Of the first candidate's tool, on a logarithmic scale."""
        ranking = penalized(before, encoded, failed)
        assert np.exp(ranking.log_probability).sum() == pytest.approx(1.0)
        chance = float(np.exp(ranking.log_tool[0]))
        return float(np.log(chance / (1 - chance)))

    own = [i for i in range(len(queries)) if queries[i].template.tool == queries[0].template.tool]
    other = next(i for i in range(len(queries)) if i not in own)
    assert odds(own[0]) == pytest.approx(odds() - RUN_PENALTY, abs=1e-5)
    assert odds(*own[:2]) == pytest.approx(odds() - 2 * RUN_PENALTY, abs=1e-5)
    assert odds(other) > odds()


@pytest.mark.parametrize(("said", "kept"), [(0.98, OPEN_SHARE), (0.04, 0.04)])
def test_metrics_of_unknown_meaning_have_a_small_share_whatever_the_network_makes_of_them(
    catalog: Catalog, said: float, kept: float
) -> None:
    incident = labelled(5, "hog", "alpha").record.incident("it is slow")
    blank = Blank("container", "container")
    unknown = QueryTemplate("meters.open", "meters", "", "", "", (blank,), (Reading("series", "open.series", "both"),))
    known = candidates(catalog, incident.evidence.entities)
    queries = (*known, *(Query(unknown, (("container", name),)) for name in ("alpha", "beta")))
    text = HashingEncoder(64)
    encoded = QueryEncoder(text, {}, {}).encode(incident, queries, text.encode([incident.report])[0])
    chance = np.array([(1.0 - said) / len(known)] * len(known) + [0.75 * said, 0.25 * said])
    none = np.zeros(len(queries), dtype=np.float32)
    after = np.exp(
        cap_uncovered_metrics(Ranking(queries, none, none, np.log(chance).astype(np.float32), 0.0), encoded).log_probability
    )
    assert after.sum() == pytest.approx(1.0)
    assert after[len(known) :].sum() == pytest.approx(kept, abs=1e-5)
    assert after[-2] / after[-1] == pytest.approx(3.0, rel=1e-4)
