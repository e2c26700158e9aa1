"""Learning from twenty confirmed incidents of a kind that no model was trained on, through the store as the server does it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from revelio.errors import InvalidInputError
from revelio.ranker.artifact import load_manifest
from revelio.ranker.recommender import Recommender
from revelio.ranker.versions import Versions
from revelio.service import Service
from revelio.service.pipeline import answer_incident
from revelio.settings import LearningSettings, Settings
from revelio.store import Store
from revelio.systems.incidents.exchange import Record
from revelio.training.feedback import learn as learning
from revelio.training.feedback.comparison import TOLERANCE
from revelio.training.feedback.learn import LearnArguments, learn
from revelio.types import Incident
from tests.training.feedback.conftest import CONFIRMED
from tests.training.feedback.made import RIGHT, incidents


def _place(recommender: Recommender, incident: Incident, container: str) -> int:
    ranked = answer_incident(incident, recommender, 1000).queries
    return next(q.rank for q in ranked if q.query.template.id == RIGHT and q.query.bindings == (("container", container),))


def _calm(recommender: Recommender, fresh: list[tuple[Incident, str]]) -> float:
    """How many of the incidents are expected to hold no fault."""
    return sum(answer_incident(incident, recommender).no_fault_probability for incident, _ in fresh)


def _chances(recommender: Recommender, fresh: list[tuple[Incident, str]]) -> list[float]:
    """How probable the right query of each incident is."""
    found = []
    for incident, container in fresh:
        ranked = answer_incident(incident, recommender, 1000).queries
        found += [
            q.probability for q in ranked if q.query.template.id == RIGHT and dict(q.query.bindings)["container"] == container
        ]
    return found


def _service(arguments: LearnArguments, database: str) -> Service:
    settings = Settings(database=database, model=arguments.model, learning=LearningSettings(folder=arguments.folder))
    return Service(settings)


def test_twenty_confirmed_incidents_of_a_new_kind_bring_its_query_far_up_and_harm_nothing(
    arguments: LearnArguments, store: Store, database: str, base: Recommender, calm: list[Record]
) -> None:
    fresh = sorted(incidents(calm[12:], 18, first=100), key=lambda one: _place(base, *one))[-6:]
    before = [_place(base, *one) for one in fresh]
    assert sum(p <= 3 for p in before) <= 2, f"not new to the base model: {before}"

    service = _service(arguments, database)
    assert service.recommender.model == base.model
    attempt = learn(arguments, store)

    assert attempt.taken, attempt.outcome
    assert attempt.learned is not None
    assert attempt.learned.found == CONFIRMED
    learned = service.recommender
    assert learned.model == attempt.after == f"{base.model}.1", "a server that runs follows without a restart"
    after = [_place(learned, *one) for one in fresh]
    # These are the six hardest of eighteen for the model at hand, which had them as far down as 486th.
    assert sum(p <= 3 for p in after) >= 4, f"{after}; they were {before}"
    assert all(now <= max(3, was // 10) for now, was in zip(after, before, strict=True)), f"{after}; they were {before}"
    held, feedback, *each = attempt.comparisons
    assert held.incidents >= 12
    assert held.after.top1 >= held.before.top1 - TOLERANCE
    assert held.after.top3 >= held.before.top3 - TOLERANCE
    assert held.after.auroc is not None
    assert held.before.auroc is not None
    assert held.after.auroc >= held.before.auroc - TOLERANCE
    assert feedback.incidents == CONFIRMED
    assert each == [], "one system needs no comparison of its own"
    assert feedback.after.top3 > feedback.before.top3
    found, _ = max(zip(fresh, before, after, strict=True), key=lambda one: one[1] - one[2])[0]
    assert _calm(learned, fresh) < _calm(base, fresh)
    answer = answer_incident(found, learned)
    assert answer.no_fault_probability < answer_incident(found, base).no_fault_probability
    assert answer.model == attempt.after
    told = [fact for q in answer.queries for f in q.factors for fact in f.because]
    assert "Raised by feedback on earlier answers" in told

    service.model.versions().use("base")
    assert service.recommender.model == base.model, "the way back"
    assert _chances(service.recommender, fresh) == pytest.approx(_chances(base, fresh), abs=0.02), (
        "but for what int8 vectors of names owe to what is encoded with them"
    )


def test_a_version_that_is_worse_is_not_taken_and_the_base_model_goes_on_answering(
    arguments: LearnArguments, store: Store, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "L2_VALUES", (3.0,))
    monkeypatch.setattr(learning, "worse", lambda comparisons: "top 3 on held-out incidents falls")
    attempt = learn(arguments, store)
    assert not attempt.taken
    assert attempt.before == attempt.after
    assert "not adopted: top 3 on held-out incidents falls" in attempt.outcome
    versions = Versions(arguments.folder, load_manifest(arguments.model))
    assert versions.list() == ()
    last = versions.last_run()
    assert last is not None
    assert not last.taken
    again = learn(arguments, store)
    assert "0 new verdicts" in again.outcome, "the same verdicts are not tried twice"


def test_only_one_process_learns_at_a_time_and_too_few_verdicts_are_waited_for(arguments: LearnArguments, store: Store) -> None:
    with Versions(arguments.folder, load_manifest(arguments.model)).learning(), pytest.raises(InvalidInputError, match="already"):
        learn(arguments, store)
    attempt = learn(replace(arguments, at_least=CONFIRMED + 1), store)
    assert attempt.outcome == f"{CONFIRMED} new verdicts of {CONFIRMED + 1} required"
