"""What was run weighs on everything else, and is said in words; probabilities stay probabilities."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.encoders.query import EncodedIncident, QueryEncoder, with_found
from revelio.encoders.report import HashingEncoder
from revelio.errors import NotFoundError
from revelio.ranker.recommender import Recommender
from revelio.ranker.rerank import rerank
from revelio.ranker.scoring import RUN_PENALTY, Calibration, Logits, Ranking, rank
from revelio.service.pipeline import answer_incident
from revelio.types import Finding, Incident, Query, RankedQuery
from tests.ranker.conftest import PLACES, labelled


def place_of(query: Query) -> int:
    return PLACES.index(query.bindings[0][1]) if query.bindings else 0


class Made:
    """A network made by hand: CPU before all, alpha before beta; what was run is not it, and makes its neighbours likelier."""

    name = "made"

    def __init__(self) -> None:
        self.passes = 0

    def encode(self, incident: Incident, queries: tuple[Query, ...]) -> EncodedIncident:
        text = HashingEncoder(64)
        return QueryEncoder(text, {}, {}).encode(incident, queries, text.encode([incident.report])[0])

    def understands(self, report: str) -> bool:
        return report != "x x x"

    def rank_without_report(self, incident: Incident, queries: tuple[Query, ...]) -> Future[Ranking]:
        """CPU of the last place instead of the first, where the report named that one."""
        ranking = self.rank(self.encode(incident, queries))
        if "named" in incident.report:
            ranking = replace(ranking, log_value=ranking.log_value + np.array([9.0 * place_of(q) for q in queries], np.float32))
        found: Future[Ranking] = Future()
        found.set_result(ranking)
        return found

    def logits(self, encoded: EncodedIncident) -> Logits:
        self.passes += 1
        none = np.zeros(1, np.float32)
        return Logits(none, none, none, 0.0)

    def rank(self, encoded: EncodedIncident, unrun: Logits | None = None) -> Ranking:
        self.passes += 1
        own = np.array([3.0 * (q.template.id == "meters.cpu") - 0.5 * place_of(q) for q in encoded.queries])
        value = (encoded.feature("near_signal") * 2.0 - encoded.feature("run") * 4.0 + own).astype(np.float32)
        template = np.array([np.logaddexp.reduce(value[encoded.template_of == t]) for t in range(len(encoded.templates))])
        tool = np.array([np.logaddexp.reduce(template[encoded.tool_of == k]) for k in range(len(encoded.tools))])
        return rank(encoded, Logits(tool, template, value, 0.0), Calibration())


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def recommender(catalog: Catalog, made: Made) -> Recommender:
    return Recommender(made, catalog)  # type: ignore[arg-type]


@pytest.fixture
def incident() -> Incident:
    return labelled(5, "hog", "alpha").record.incident("it is slow")


def learned(incident: Incident, *shown: tuple[RankedQuery, float]) -> Incident:
    return replace(incident, findings=tuple(Finding(q.query.template.id, q.query.bindings, s) for q, s in shown))


def rank_changes(recommender: Recommender, incident: Incident, *signals: float, k: int = 3) -> dict[str, str]:
    """Titles in the new order with the words of each, once the first queries showed these signals."""
    kept = answer_incident(incident, recommender, k).queries
    ranked, changes = recommender.rerank(learned(incident, *zip(kept, signals, strict=False)), kept, k)
    assert [q.rank for q in ranked.queries] == list(range(1, len(changes) + 1))
    return {q.query.title: m.because for q, m in zip(ranked.queries, changes, strict=True)}


def test_a_result_that_shows_nothing_moves_its_query_down_and_others_up(recommender: Recommender, incident: Incident) -> None:
    first, *_ = before = [q.query.title for q in answer_incident(incident, recommender, 3).queries]
    after = rank_changes(recommender, incident, 0.0)
    assert list(after).index(first) > 0
    assert set(before) < set(after)
    assert after[first] == "Was 1: its result is normal"
    assert after[next(iter(after))] == f"Was 2: “{first}” is normal"


def test_a_result_that_stands_out_is_not_held_against_its_query(recommender: Recommender, incident: Incident) -> None:
    first = answer_incident(incident, recommender, 3).queries[0]
    after = rank_changes(recommender, incident, 0.9)
    assert next(iter(after)) == first.query.title
    assert after[first.query.title] == "", "its rank did not change"


def test_what_comes_up_says_where_from_and_through_which_result(recommender: Recommender, incident: Incident) -> None:
    first = answer_incident(incident, recommender, 1).queries[0]
    after = rank_changes(recommender, incident, 0.9, k=4)
    neighbour = next(t for t in after if "Memory" in t or "State" in t or "Errors" in t)
    assert after[neighbour].startswith("Was ")
    assert after[neighbour].endswith(f"“{first.query.title}” is anomalous")


@pytest.mark.parametrize("signals", [(0.0,), (0.9,), (0.9, 0.0), (0.9, 0.8, 0.7), (0.0, 0.0, 0.0)])
def test_probabilities_add_up_to_one_whatever_was_run(
    made: Made, catalog: Catalog, incident: Incident, signals: tuple[float, ...]
) -> None:
    queries = Recommender(made, catalog).candidates(incident)  # type: ignore[arg-type]
    reranked = rerank(made, incident, queries, dict(enumerate(signals)))  # type: ignore[arg-type]
    assert np.exp(reranked.log_probability.astype(np.float64)).sum() == pytest.approx(1.0, abs=1e-4)


def test_everything_run_and_standing_out_is_still_a_ranking(made: Made, catalog: Catalog, incident: Incident) -> None:
    queries = Recommender(made, catalog).candidates(incident)[:3]  # type: ignore[arg-type]
    reranked = rerank(made, incident, queries, {0: 1.0, 1: 1.0, 2: 1.0})  # type: ignore[arg-type]
    assert np.exp(reranked.log_probability).sum() == pytest.approx(1.0, abs=1e-4)


def test_factors_of_each_query_multiply_to_its_probability(recommender: Recommender, incident: Incident) -> None:
    kept = answer_incident(incident, recommender, 3).queries
    ranked, _ = recommender.rerank(learned(incident, (kept[0], 0.9), (kept[1], 0.1)), kept, 3)
    for q in ranked.queries:
        assert np.exp(sum(f.log_probability for f in q.factors)) == pytest.approx(q.probability)
    assert {f.name for f in ranked.queries[-1].factors} == {"tool", "template", "values", "results"}


def test_without_a_finding_nothing_moves(recommender: Recommender, incident: Incident) -> None:
    kept = answer_incident(incident, recommender, 3).queries
    ranked, changes = recommender.rerank(incident, kept, 3)
    assert ranked.queries == kept
    assert {m.because for m in changes} == {""}
    first = answer_incident(incident, recommender, 3)
    assert ranked.no_fault_probability == first.no_fault_probability > 0.0


def test_what_the_catalog_no_longer_has_comes_last_as_it_was(recommender: Recommender, incident: Incident) -> None:
    kept = answer_incident(incident, recommender, 2).queries
    gone = replace(kept[0], query=replace(kept[0].query, bindings=(("container", "gone"),)))
    ranked, changes = recommender.rerank(learned(incident, (kept[1], 0.9)), (gone, kept[1]), 2)
    assert (ranked.queries[-1].query, ranked.queries[-1].probability) == (
        gone.query,
        gone.probability,
    )
    assert changes[-1].because == "Not re-ranked: no longer a candidate"


def test_a_query_that_falls_although_its_result_is_anomalous_names_what_explains_more(
    recommender: Recommender, incident: Incident
) -> None:
    kept = answer_incident(incident, recommender, 12).queries
    ranked, changes = recommender.rerank(learned(incident, (kept[0], 0.9), (kept[4], 0.9), (kept[11], 0.9)), kept, 12)
    for query, change in zip(ranked.queries, changes, strict=True):
        ran = query.query.id in {kept[i].query.id for i in (0, 4, 11)}
        if query.rank > change.before:
            assert change.because.startswith(f"Was {change.before}: ")
            assert change.because.endswith("now explains more") or not ran
        if query.rank == change.before:
            assert change.because == ""


def test_many_results_cost_a_bounded_number_of_passes(made: Made, catalog: Catalog, incident: Incident) -> None:
    queries = Recommender(made, catalog).candidates(incident)  # type: ignore[arg-type]
    rerank(made, incident, queries, dict.fromkeys(range(len(queries)), 0.7))  # type: ignore[arg-type]
    assert made.passes <= 12


def test_everybody_who_looks_at_the_same_results_gets_one_re_ranking(
    made: Made, recommender: Recommender, incident: Incident
) -> None:
    kept = answer_incident(incident, recommender, 3).queries
    seen = learned(incident, (kept[0], 0.9), (kept[1], 0.1))
    (_, first), passes = recommender.rerank(seen, kept), made.passes
    other = replace(seen, id="again", findings=seen.findings[::-1])
    assert recommender.rerank(other, kept)[1] == first
    assert made.passes == passes
    for changed in (
        learned(incident, (kept[0], 0.9)),
        replace(seen, report="named"),
        replace(seen, evidence=replace(seen.evidence)),
    ):
        before = made.passes
        recommender.rerank(changed, kept)
        assert made.passes > before


def test_a_candidate_is_found_with_its_place_among_all(recommender: Recommender, incident: Incident) -> None:
    fifth = answer_incident(incident, recommender, 5).queries[-1]
    assert recommender.find(incident, fifth.query.id) == fifth
    with pytest.raises(NotFoundError, match="nothing-like"):
        recommender.find(incident, "nothing-like-it")


def _odds(ranking: Ranking, index: int) -> float:
    """Of a candidate's tool, on a logarithmic scale."""
    chance = float(np.exp(ranking.log_tool[index]))
    return float(np.log(chance / (1.0 - chance)))


def test_a_dull_result_casts_doubt_on_its_tool_unless_another_of_its_results_stands_out(
    made: Made, catalog: Catalog, incident: Incident
) -> None:
    queries = Recommender(made, catalog).candidates(incident)  # type: ignore[arg-type]
    first, second = (i for i in range(len(queries)) if queries[i].template.tool == queries[0].template.tool and i < 2)
    encoded = made.encode(incident, queries)
    plain = made.rank(replace(encoded, features=with_found(encoded, {first: 0.0})))

    normal = rerank(made, incident, queries, {first: 0.0})  # type: ignore[arg-type]
    assert _odds(normal.after, second) == pytest.approx(_odds(plain, second) - RUN_PENALTY, abs=1e-3)

    beside = rerank(made, incident, queries, {first: 0.0, second: 0.9})  # type: ignore[arg-type]
    assert beside.log_probability[second] == pytest.approx(plain.log_probability[second], abs=1e-5)


@pytest.mark.parametrize(
    ("report", "effect"),
    [
        ("", ""),
        ("it is slow", "Without the report, the same query would come first"),
        ("named", "Without the report, another query would come first: CPU use of omega"),
        ("x x x", "The report has no word that the model knows, so that the evidence alone was ranked"),
    ],
)
def test_an_answer_says_what_the_report_changed(recommender: Recommender, report: str, effect: str) -> None:
    incident = labelled(990, "hog", "alpha").record.incident(report)
    said = answer_incident(incident, recommender).report_effect
    assert effect in said if effect else not said
