"""What `revelio learn` would make of a few confirmed incidents of one system."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from revelio.catalog import Catalog
from revelio.ranker.session import Ranker
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.training.feedback.examples import FOUND, Judged, cases
from revelio.training.feedback.learn import fitted


def adapted(ranker: Ranker, incidents: Sequence[LabelledIncident], catalog: Catalog) -> Ranker:
    """The ranker with a head fitted to these incidents, as if the first report of each had been answered and the queries that
    show the cause confirmed; the ranker itself where that would not be adopted."""
    answers = [a for i in incidents for a in _confirmed(i, ranker, catalog)]
    if not answers:
        return ranker
    _, head, _, worse = fitted(answers, (), (), None, None)
    return ranker if worse else ranker.with_head(head, f"{ranker.name}.own")


def _confirmed(incident: LabelledIncident, ranker: Ranker, catalog: Catalog) -> list[Judged]:
    for case in cases(incident, ranker, catalog):
        right = np.flatnonzero(case.example.right[:-1])
        if not len(right):
            return []
        asked, record = case.example.encoded.queries, incident.record
        templates = frozenset(asked[i].template.id for i in right)
        one = (case.example,)
        return [Judged(record.id, record.system, record.id, record.opened_at, *one, one, templates, (int(FOUND), 0, 0))]
    return []
