"""A few labelled incidents of a system make what verdicts on them would have made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from revelio.catalog import Catalog, load_catalog
from revelio.ranker.recommender import Recommender, load_recommender
from revelio.ranker.session import Ranker
from revelio.service.pipeline import answer_incident
from revelio.settings import BUNDLED
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.systems.incidents.exchange import Label, Record
from revelio.training.feedback.own_incidents import adapted
from tests.cli.test_foreign_catalog import CATALOG, PLACES, incident

WANTED = "get_pod_restarts"


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    path = tmp_path_factory.mktemp("theirs") / "theirs.yaml"
    path.write_text(CATALOG)
    return load_catalog(path)


def restarts(number: int) -> Record:
    """Pods that take more CPU, of which the restarts are what shows the cause."""
    record = incident(number, "hog", PLACES[number % 4], "new_app")
    (bindings,) = {x.bindings for x in record.labels if x.grade == 3}
    return replace(record, labels=(Label(WANTED, bindings, 3, proven=True),))


def chance(ranker: Ranker, record: Record, catalog: Catalog) -> float:
    wanted = (record.labels[0].template, record.labels[0].bindings)
    ranked = answer_incident(record.incident(), Recommender(ranker, catalog), 100).queries
    return next(q.probability for q in ranked if (q.query.template.id, q.query.bindings) == wanted)


def test_confirmed_incidents_raise_their_query_in_others_and_without_any_nothing_changes(theirs: Catalog) -> None:
    base = load_recommender(BUNDLED / "model", theirs).ranker
    assert adapted(base, [], theirs) is base
    own = [LabelledIncident(restarts(n), "new_app", theirs) for n in range(6)]
    later = adapted(base, own, theirs)
    assert later.head is not None
    assert base.head is None
    assert chance(later, restarts(41), theirs) > chance(base, restarts(41), theirs)
