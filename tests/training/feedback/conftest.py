"""A store in which people confirmed twenty incidents of a new kind, and few labelled incidents so that learning is quick."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from revelio.catalog import bundled_catalog
from revelio.ranker.recommender import Recommender, load_recommender
from revelio.service.pipeline import answer_incident
from revelio.settings import BUNDLED
from revelio.store import Store
from revelio.systems.incidents.dataset import open_dataset
from revelio.systems.incidents.exchange import Record
from revelio.training.feedback.learn import LearnArguments
from revelio.training.feedback.replay_set import choose
from revelio.types import Incident
from tests.training.feedback.made import RIGHT, incidents

CONFIRMED = 20


@pytest.fixture(scope="session")
def replay_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replay_set") / "few"
    choose(BUNDLED / "replay_set", folder, train=20, held_out=20)
    return folder


@pytest.fixture(scope="session")
def calm() -> list[Record]:
    """Recordings of controls, from all splits."""
    known = open_dataset(Path("data/three_apps"), verify=False).read()
    return [x.record for x in known if x.record.fault and x.record.fault.category == "control"]


@pytest.fixture(scope="session")
def base() -> Recommender:
    return load_recommender(BUNDLED / "model", bundled_catalog())


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory, base: Recommender, calm: list[Record]) -> str:
    """The address of a store with twenty confirmed incidents."""
    url = f"sqlite:///{tmp_path_factory.mktemp('store')}/revelio.db"
    store = Store(url)
    for incident, place in incidents(calm[:12], CONFIRMED):
        confirm(store, base, incident, place)
    store.close()
    return url


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    store = Store(database)
    yield store
    store.close()


@pytest.fixture
def arguments(tmp_path: Path, replay_set: Path) -> LearnArguments:
    return LearnArguments(BUNDLED / "model", tmp_path / "models", replay_set, bundled_catalog())


def confirm(store: Store, base: Recommender, incident: Incident, place: str) -> None:
    """As the page does it: an answer, and a query that showed the cause, among the first five or not."""
    saved = store.save(answer_incident(incident, base))
    right = next(q for q in base.candidates(incident) if q.template.id == RIGHT and q.bindings == (("container", place),))
    if right.id not in [q.query.id for q in saved.recommendation.queries]:
        store.join(saved.id, base.find(incident, right.id))
    store.add_feedback(saved.id, right.id, "found", "a leak")
