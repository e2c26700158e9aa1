"""Listening is measured: a method that reads the report follows it, one that does not is seen not to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from revelio.catalog import Catalog, load_catalog
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.training.evaluation.listening import Listening, listening
from revelio.training.evaluation.method import Scores, from_logits
from revelio.types import Incident, Query
from tests.ranker.conftest import CATALOG, labelled


@dataclass(frozen=True)
class Reader:
    """Knows both faults, and prefers the one whose place the report names; ``deaf`` to it, always the first."""

    deaf: bool = False
    name: str = "reader"

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        faults = {("meters.cpu", "alpha"): 3.0, ("journal.errors", "omega"): 2.0}
        known = np.array(
            [
                faults.get((q.template.id, dict(q.bindings).get("container", dict(q.bindings).get("service", ""))), 0.0)
                for q in queries
            ]
        )
        named = np.array([any(value in incident.report.lower() for _, value in q.bindings) for q in queries])
        return from_logits(known + (0.0 if self.deaf else 5.0 * named), 0.0)


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    path = tmp_path / "small.yaml"
    path.write_text(CATALOG)
    return load_catalog(path)


@pytest.fixture
def both(catalog: Catalog) -> list[LabelledIncident]:
    first, second = labelled(1, "hog", "alpha", "new_app"), labelled(2, "bug", "omega", "new_app")
    shared = first.record.evidence
    return [replace(x, record=replace(x.record, run="r", evidence=shared)) for x in (first, second)]


def _measured(method: Reader, both: list[LabelledIncident], catalog: Catalog) -> Listening:
    (found,) = listening(both, (), catalog, method)
    return found


def test_a_method_that_reads_follows_either_report(both: list[LabelledIncident], catalog: Catalog) -> None:
    found = _measured(Reader(), both, catalog)
    assert (found.incidents, found.top1, found.follows, found.other_top1) == (2, 1.0, 1.0, 0.0)
    assert found.worth == pytest.approx(0.5)
    assert found.nonsense_same == 1.0


def test_a_method_that_is_deaf_is_right_for_half_of_them_whatever_is_said(both: list[LabelledIncident], catalog: Catalog) -> None:
    found = _measured(Reader(deaf=True), both, catalog)
    assert (found.top1, found.without_top1, found.worth, found.follows) == (0.5, 0.5, 0.0, 0.0)


def test_of_single_incidents_no_other_report_is_there(catalog: Catalog) -> None:
    (found,) = listening((), [labelled(1, "hog", "alpha", "new_app")], catalog, Reader())
    assert (found.name, found.other_top1, found.follows) == ("one fault", None, None)
