"""Feedback on a system with its own catalog counts there, and is compared on that system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from revelio.catalog import Catalog, load_catalog
from revelio.ranker.artifact import load_manifest
from revelio.ranker.recommender import Recommender, load_recommender
from revelio.ranker.versions import Versions
from revelio.service.pipeline import answer_incident
from revelio.settings import BUNDLED
from revelio.store import Store
from revelio.systems.incidents.exchange import Record
from revelio.training.feedback.comparison import FEEDBACK, HELD_OUT
from revelio.training.feedback.learn import LearnArguments, learn
from tests.cli.test_foreign_catalog import CATALOG, KINDS, PLACES, incident

MODEL = BUNDLED / "model"


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    path = tmp_path_factory.mktemp("theirs") / "theirs.yaml"
    path.write_text(CATALOG)
    return load_catalog(path)


@pytest.fixture(scope="module")
def base(theirs: Catalog) -> Recommender:
    return load_recommender(MODEL, theirs)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(f"sqlite:///{tmp_path}/revelio.db")
    yield store
    store.close()


def crashes(numbers: Sequence[int], system: str = "theirs") -> list[Record]:
    """Pods that restart now and then, and one that takes more CPU than it used to: the restarts are what was found."""
    records = [incident(n, "hog", PLACES[n % 4], "train") for n in numbers]
    return [
        replace(r, id=f"{system}-{r.id}", system=system, opened_at=90.0 + 86_400.0 * n)
        for n, r in zip(numbers, records, strict=True)
    ]


def confirm(store: Store, base: Recommender, record: Record, template: str) -> None:
    """As the page does it: an answer, and the query of that template that was found there."""
    asked = replace(record.incident(), id=record.id, opened_at=record.opened_at)
    saved = store.save(answer_incident(asked, base, 100))
    right = next(q for q in saved.recommendation.queries if _right(q.query.template.id, q.query.bindings, record, template))
    store.add_feedback(saved.id, right.query.id, "found", "")


def _right(found: str, bindings: tuple[tuple[str, str], ...], record: Record, template: str) -> bool:
    assert record.fault is not None
    return found == template and bindings[0][1] == record.fault.place


def probability(recommender: Recommender, record: Record, template: str) -> float:
    ranked = answer_incident(record.incident(), recommender, 100).queries
    return next(q.probability for q in ranked if _right(q.query.template.id, q.query.bindings, record, template))


def arguments(folder: Path, theirs: Catalog) -> LearnArguments:
    return LearnArguments(MODEL, folder / "models", BUNDLED / "replay_set", theirs)


def learned(taken: LearnArguments, base: Recommender) -> Recommender:
    versions = Versions(taken.folder, load_manifest(MODEL))
    return base.with_head(versions.head(versions.current()), versions.current())


def test_found_queries_of_an_own_system_rank_higher_there_and_are_compared_on_it_alone(
    theirs: Catalog, base: Recommender, store: Store, tmp_path: Path
) -> None:
    wanted = "get_pod_restarts"
    for record in crashes(range(6)):
        confirm(store, base, record, wanted)
    taken = arguments(tmp_path, theirs)
    attempt = learn(taken, store)
    assert attempt.taken, attempt.outcome
    held, feedback = attempt.comparisons
    assert (held.name, held.incidents) == (HELD_OUT, 0), "no bundled incident has candidates of this catalog"
    assert (feedback.name, feedback.incidents) == (FEEDBACK, 6)
    assert feedback.after.mrr >= feedback.before.mrr
    fresh = crashes([41])[0]
    assert probability(learned(taken, base), fresh, wanted) > probability(base, fresh, wanted)


def test_one_found_query_counts_a_little(theirs: Catalog, base: Recommender, store: Store, tmp_path: Path) -> None:
    record, fresh = crashes([0])[0], crashes([41])[0]
    confirm(store, base, record, "get_pod_restarts")
    taken = arguments(tmp_path, theirs)
    attempt = learn(taken, store)
    assert attempt.taken
    assert "until there is a second incident" in attempt.outcome
    assert probability(learned(taken, base), fresh, "get_pod_restarts") > probability(base, fresh, "get_pod_restarts")
    others = [k for k in KINDS if k != "hog"]
    for number, kind in enumerate(others):
        other = incident(70 + number, kind, "delta", "train")
        before = answer_incident(other.incident(), base, 1).queries[0].query.id
        assert answer_incident(other.incident(), learned(taken, base), 1).queries[0].query.id == before


def test_each_of_several_systems_is_compared_alone(theirs: Catalog, base: Recommender, store: Store, tmp_path: Path) -> None:
    for system in ("theirs", "others"):
        for record in crashes(range(3), system):
            confirm(store, base, record, "get_pod_restarts")
    attempt = learn(replace(arguments(tmp_path, theirs), dry_run=True), store)
    assert [(c.name, c.incidents) for c in attempt.comparisons[1:]] == [
        (FEEDBACK, 6),
        (f"{FEEDBACK}, others", 3),
        (f"{FEEDBACK}, theirs", 3),
    ]
