"""Judged answers and labelled incidents as lessons, each with the evidence as it was seen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from revelio.candidates import candidates
from revelio.catalog import Catalog
from revelio.encoders.query import EncodedIncident
from revelio.evaluation.runner import case
from revelio.incidents.dataset import Dataset, LabelledIncident
from revelio.ranker.fit_head import TrainingExample
from revelio.ranker.scoring import rank
from revelio.ranker.session import Ranker
from revelio.store import SavedAnswer

FOUND, HELPFUL, NOT_USEFUL = 1.0, 0.3, 0.1
"""How much a verdict weighs: that a query showed the cause, that it or one that did was among the good ones, that it was not."""

SAME_INCIDENT_S = 1800.0
"""Answers about one live system that are less than this apart speak of one incident."""

REPORTS = 2
"""Reports that are taken of a labelled incident."""


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer that people judged: the last verdict on each query.

    ``group`` is what answers about the same incident share; ``found`` is the lesson that scores a model, None where nobody
    found anything; ``examples`` are all there are. ``until`` is the moment of the latest verdict in Unix seconds.
    """

    id: str
    group: str
    until: float
    found: TrainingExample | None
    examples: tuple[TrainingExample, ...]
    templates: frozenset[str]
    verdicts: tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled incident told by one report."""

    incident: str
    example: TrainingExample


def judged(answers: Iterable[SavedAnswer], ranker: Ranker, catalog: Catalog) -> list[Judged]:
    """Those with a verdict on a query that can still be asked, oldest first."""
    known = sorted(answers, key=lambda a: (a.recommendation.incident.system, a.recommendation.incident.opened_at, a.id))
    return sorted(
        (
            found
            for answer, group in zip(known, _groups(known), strict=True)
            if (found := _judged(answer, group, ranker, catalog))
        ),
        key=lambda j: (j.until, j.id),
    )


def labelled(dataset: Dataset, ranker: Ranker, catalog: Catalog, *splits: str, most: int, temperature: float = 1.0) -> list[Case]:
    """At most ``most`` incidents of these splits, chosen by a hash of their ids; with none named, of all but ``train``.

    They are ranked at ``temperature``.
    """
    if not splits:
        splits = tuple(sorted({*dataset.splits.values()} - {"train"})) or ("repeat", "new_location", "new_fault", "no_fault")
    chosen = sorted(dataset.read(*splits), key=lambda x: hashlib.sha256(x.record.id.encode()).digest())[:most]
    return [c for incident in chosen for c in _cases(incident, ranker, catalog, temperature)]


def _cases(incident: LabelledIncident, ranker: Ranker, catalog: Catalog, temperature: float) -> Iterator[Case]:
    record = incident.record
    for example in case(incident, catalog).examples[:REPORTS]:
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
    queries = incident.candidates or candidates(catalog, incident.evidence.entities)
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
    """``right`` are indices of outcomes; without any, that nothing points at a fault is right."""
    marked = np.zeros(len(encoded.queries) + 1, dtype=np.bool_)
    marked[list(right) or [-1]] = True
    return TrainingExample(encoded, rank(encoded, ranker.logits(encoded), ranker.calibration, temperature), marked, weight)


def _groups(answers: list[SavedAnswer]) -> Iterator[str]:
    """One name an incident: recorded ones by their id, live ones by system and time. ``answers`` are in that order."""
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
