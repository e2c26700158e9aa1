"""Judged answers and labelled incidents as training examples, with the evidence of their time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from revelio.catalog import Catalog
from revelio.catalog.candidates import candidates, inventory
from revelio.encoders.query import EncodedIncident
from revelio.ranker.fit_head import TrainingExample
from revelio.ranker.session import Ranker
from revelio.store import SavedAnswer
from revelio.systems.incidents.dataset import Dataset, LabelledIncident
from revelio.training.evaluation.runner import case

FOUND, HELPFUL, NOT_USEFUL = 1.0, 0.3, 0.1
"""The weights of verdicts: a query showed the cause; it helped, as may another one; it was not useful."""

SAME_INCIDENT_S = 1800.0
"""Answers about one live system less than this apart belong to one incident."""

REPORTS = 2
"""Reports used per labelled incident."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer with feedback: the last verdict on each query.

    Answers about one incident share a ``group``. ``found`` is the example that scores a model, None without a found cause;
    ``examples`` are all of them. ``until`` is the moment of the latest verdict in Unix seconds.
    """

    id: str
    system: str
    group: str
    until: float
    found: TrainingExample | None
    examples: tuple[TrainingExample, ...]
    templates: frozenset[str]
    verdicts: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled incident with one of its reports."""

    incident: str
    example: TrainingExample


def judged(answers: Iterable[SavedAnswer], ranker: Ranker, catalog: Catalog) -> list[Judged]:
    """The answers with a verdict on a query that is still a candidate, oldest first."""
    known = sorted(answers, key=lambda a: (a.recommendation.incident.system, a.recommendation.incident.opened_at, a.id))
    return sorted(
        (
            found
            for answer, group in zip(known, _groups(known), strict=True)
            if (found := _judged(answer, group, ranker, catalog))
        ),
        key=lambda j: (j.until, j.id),
    )


def labelled(
    dataset: Dataset,
    ranker: Ranker,
    catalog: Catalog,
    *splits: str,
    most: int,
    temperature: float = 1.0,
    asking: frozenset[str] = frozenset(),
) -> list[Case]:
    """At most ``most`` incidents of these splits, chosen by a hash of their ids; without splits, of all but ``train``.

    The network ranks them at ``temperature``. With ``asking``, incidents without a candidate of these templates are skipped.
    """
    if not splits:
        splits = tuple(sorted({*dataset.splits.values()} - {"train"})) or ("repeat", "new_location", "new_fault", "no_fault")
    chosen = sorted(dataset.read(*splits), key=lambda x: hashlib.sha256(x.record.id.encode()).digest())[:most]
    return [c for incident in chosen for c in cases(incident, ranker, catalog, temperature, asking)]


def cases(
    incident: LabelledIncident, ranker: Ranker, catalog: Catalog, temperature: float = 1.0, asking: frozenset[str] = frozenset()
) -> Iterator[Case]:
    """An incident with each of its first reports; none where it has no accepted query among its candidates."""
    record, examples = incident.record, case(incident, catalog).examples[:REPORTS]
    if asking and asking.isdisjoint(q.template.id for q in examples[0].queries):
        return
    for example in examples:
        best = int(example.grades.max(initial=0))
        faulty = bool(record.labels) or (record.fault is not None and record.fault.category != "control")
        if not example.queries or (faulty and not best):
            continue
        encoded = ranker.encode(example.incident, example.queries)
        right = np.flatnonzero((example.grades >= best) & (example.grades > 0))
        yield Case(record.id, _example(encoded, ranker, right, 1.0, temperature))


def _judged(answer: SavedAnswer, group: str, ranker: Ranker, catalog: Catalog) -> Judged | None:
    incident = answer.recommendation.incident
    last = {f.query_id: f for f in answer.feedback if f.query_id is not None}
    queries = incident.candidates or candidates(catalog, inventory(incident.evidence))
    at = {verdict: [i for i, q in enumerate(queries) if q.id in last and last[q.id].verdict == verdict] for verdict in _WEIGHTS}
    if not any(at.values()):
        return None
    encoded = ranker.encode(incident, queries)
    good = [*at["found"], *at["helpful"]]
    found = _example(encoded, ranker, at["found"], FOUND) if at["found"] else None
    examples = [found] if found else []
    if at["helpful"]:
        examples.append(_example(encoded, ranker, good, HELPFUL))
    if at["not_useful"]:
        others = np.setdiff1d(np.arange(len(queries) + 1), at["not_useful"])
        examples.append(_example(encoded, ranker, others, NOT_USEFUL))
    return Judged(
        id=answer.id,
        system=incident.system,
        group=group,
        until=max(f.given_at for f in last.values()),
        found=found,
        examples=tuple(examples),
        templates=frozenset(queries[i].template.id for places in at.values() for i in places),
        verdicts=(len(at["found"]), len(at["helpful"]), len(at["not_useful"])),
    )


_WEIGHTS = {"found": FOUND, "helpful": HELPFUL, "not_useful": NOT_USEFUL}


def _example(
    encoded: EncodedIncident, ranker: Ranker, right: Iterable[int], weight: float, temperature: float = 1.0
) -> TrainingExample:
    """``right`` are indices of outcomes; without any, "no fault" is right."""
    marked = np.zeros(len(encoded.queries) + 1, dtype=np.bool_)
    marked[list(right) or [-1]] = True
    return TrainingExample(encoded, ranker.rank_without_head(encoded, temperature), marked, weight)


def _groups(answers: list[SavedAnswer]) -> Iterator[str]:
    """A name per incident: recorded ones by id, live ones by system and time. ``answers`` are sorted by these."""
    system, moment, name = "", float("-inf"), ""
    for answer in answers:
        incident = answer.recommendation.incident
        if answer.recorded is not None:
            yield f"recorded {answer.recorded}"
            continue
        if incident.system != system or incident.opened_at - moment > SAME_INCIDENT_S:
            name = answer.id
        system, moment = incident.system, incident.opened_at
        yield name
