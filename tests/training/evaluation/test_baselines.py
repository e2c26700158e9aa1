"""Each baseline does what its name says, on made examples with known answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.encoders.report import HashingEncoder
from revelio.training.evaluation.baselines import ALL, baselines
from revelio.training.evaluation.baselines.anomaly import Anomaly
from revelio.training.evaluation.baselines.bm25 import Bm25
from revelio.training.evaluation.baselines.frequency import Frequency
from revelio.training.evaluation.baselines.lambda_rank import LambdaRank
from revelio.training.evaluation.baselines.nearest import Nearest
from revelio.training.evaluation.baselines.paper import PaperArchitecture
from revelio.training.evaluation.baselines.tfidf import TfIdf
from revelio.training.evaluation.baselines.trees import BoostedTrees
from revelio.training.evaluation.baselines.zero_shot import ZeroShot
from revelio.training.evaluation.method import Example, Method
from revelio.types import Incident, Query
from tests.training.evaluation.made import SERVICES, catalog, evidence, example, query

TEXT = HashingEncoder()


@pytest.fixture
def known(tmp_path: Path) -> Catalog:
    return catalog(tmp_path)


def _queries(known: Catalog) -> tuple[Query, ...]:
    return tuple(query(known, t.id, s) for t in known.templates for s in SERVICES)


def _first(method: Method, known: Catalog, report: str, hot: str = "") -> Query:
    queries = _queries(known)
    scores = method.score(Incident("x", "made", report, 90.0, evidence(hot)), queries)
    return queries[int(np.argmax(scores.log_probabilities))]


@pytest.mark.parametrize("name", ALL)
def test_every_baseline_gives_a_distribution_over_all_candidates(name: str, known: Catalog) -> None:
    one = example(known, {("meter.cpu", "cart"): 3})
    method = ALL[name](known, TEXT)
    method.fit([one])
    scores = method.score(one.incident, one.queries)
    assert np.exp(scores.log_probabilities).sum() == pytest.approx(1.0)
    assert 0.0 <= scores.abstain <= 1.0
    assert method.name == name


@pytest.mark.parametrize("name", ALL)
def test_every_baseline_bears_an_incident_without_candidates(name: str, known: Catalog) -> None:
    method = ALL[name](known, TEXT)
    method.fit([])
    one = example(known, {})
    assert method.score(one.incident, ()).log_probabilities.shape == (0,)


def test_baselines_are_made_anew_each_time(known: Catalog) -> None:
    once, again = baselines(known, TEXT), baselines(known, TEXT)
    assert [b.name for b in once] == list(ALL)
    assert not {id(b) for b in once} & {id(b) for b in again}


def test_frequency_prefers_what_was_right_most_often_and_counts_an_incident_once(known: Catalog) -> None:
    cpu = [example(known, {("meter.cpu", "cart"): 3}, report=str(i), identity="same") for i in range(5)]
    memory = [example(known, {("meter.memory", "orders"): 3}, identity=f"m{i}") for i in range(2)]
    method = Frequency()
    method.fit([*cpu, *memory])
    assert _first(method, known, "whatever") == query(known, "meter.memory", "orders")


def test_frequency_falls_back_on_the_template_at_new_places(known: Catalog) -> None:
    method = Frequency()
    method.fit([example(known, {("meter.memory", "gone"): 3, ("meter.memory", "cart"): 3})])
    new = tuple(query(known, t.id, "elsewhere") for t in known.templates)
    scores = method.score(Incident("x", "made", "", 90.0, evidence()), new)
    assert new[int(np.argmax(scores.log_probabilities))].template.id == "meter.memory"


def test_bm25_follows_the_words_of_the_report(known: Catalog) -> None:
    method = Bm25()
    assert _first(method, known, "payment logs errors everywhere") == query(known, "logs.errors", "payment")
    queries = _queries(known)
    silent = method.score(Incident("x", "made", "zzz", 90.0, evidence()), queries)
    spoken = method.score(Incident("x", "made", "memory of cart", 90.0, evidence()), queries)
    assert silent.abstain == 1.0 > spoken.abstain


def test_anomaly_names_the_query_whose_reading_moved(known: Catalog) -> None:
    method = Anomaly(known)
    assert _first(method, known, "", hot="orders") == query(known, "meter.cpu", "orders")
    queries = _queries(known)
    calm = method.score(Incident("x", "made", "", 90.0, evidence()), queries).abstain
    assert calm > method.score(Incident("x", "made", "", 90.0, evidence("orders")), queries).abstain


def _told(known: Catalog, report: str, grades: dict[tuple[str, str], int], number: int) -> Example:
    return example(known, grades, report=report, identity=f"{report}{number}")


def test_tfidf_learns_the_template_and_takes_the_place_that_is_mentioned(known: Catalog) -> None:
    pytest.importorskip("sklearn")
    method = TfIdf()
    method.fit(
        [_told(known, "pages crawl", {("meter.cpu", "cart"): 3}, i) for i in range(5)]
        + [_told(known, "red error boxes", {("logs.errors", "cart"): 3}, i) for i in range(5)]
        + [_told(known, "all is well", {}, i) for i in range(5)]
    )
    assert _first(method, known, "red boxes in orders") == query(known, "logs.errors", "orders")
    queries = _queries(known)
    well = method.score(Incident("x", "made", "all well", 90.0, evidence()), queries).abstain
    assert well > 0.5 > method.score(Incident("x", "made", "pages crawl", 90.0, evidence()), queries).abstain


def test_zero_shot_follows_what_the_report_sounds_like(known: Catalog) -> None:
    assert _first(ZeroShot(TEXT), known, "memory of payment bytes") == query(known, "meter.memory", "payment")


def test_the_nearest_incident_gives_the_template_and_the_evidence_the_place(known: Catalog) -> None:
    method = Nearest(known, TEXT)
    method.fit([example(known, {("meter.cpu", "cart"): 3}, hot="cart", identity=str(i)) for i in range(5)])
    assert _first(method, known, "slow", hot="orders") == query(known, "meter.cpu", "orders")


@pytest.mark.parametrize("kind", [BoostedTrees, LambdaRank])
def test_boosted_trees_learn_which_reading_shows_the_cause(known: Catalog, kind: type[BoostedTrees | LambdaRank]) -> None:
    method = kind(known)
    places = ("cart", "orders", "payment") * 8
    method.fit([example(known, {("meter.cpu", p): 3}, hot=p, identity=str(i)) for i, p in enumerate(places)])
    assert _first(method, known, "", hot="orders") == query(known, "meter.cpu", "orders")


def test_the_paper_s_architecture_learns_which_words_call_for_which_tool(known: Catalog) -> None:
    method = PaperArchitecture(TEXT)
    told = {"everything crawls": ("meter.cpu", "cart"), "it says failed": ("logs.errors", "cart")}
    method.fit([example(known, {right: 3}, report=said, identity=f"{said}{i}") for i in range(6) for said, right in told.items()])
    assert _first(method, known, "everything crawls") == query(known, "meter.cpu", "cart")
    assert _first(method, known, "it says failed") == query(known, "logs.errors", "cart")
