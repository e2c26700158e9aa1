"""Answers as incidents in the exchange format: what was reported and seen, what queries showed, and what people said of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from revelio.store.store import SavedAnswer, Store
from revelio.systems.incidents.exchange import Label, Record, Report
from revelio.types import RankedQuery, RecordedResult

_GRADES: dict[str, Literal[1, 2, 3]] = {"found": 3, "helpful": 2}
_PAGE = 200


def exported(store: Store, *, since: float = 0.0, only_feedback: bool = False) -> Iterator[Record]:
    """Every answer since a moment (Unix seconds), newest first, one record each.

    A query with the verdict ``found`` is a label of grade 3, ``helpful`` of grade 2; ``proven`` is False, for a person said
    so and no experiment. What was forgotten meanwhile is left out.
    """
    past: tuple[float, str] | None = None
    while entries := store.history(_PAGE, past=past):
        for entry in entries:
            if entry.saved_at < since:
                return
            if entry.verdict is not None or not only_feedback:
                yield record_of(store.load(entry.id))
        past = (entries[-1].saved_at, entries[-1].id)


def record_of(answer: SavedAnswer) -> Record:
    """One answer as an incident; its id is the answer's."""
    incident = answer.recommendation.incident
    queries = answer.recommendation.queries
    return Record(
        id=answer.id,
        system=incident.system,
        opened_at=incident.opened_at,
        evidence=incident.evidence,
        reports=(Report(incident.report),) if incident.report else (),
        candidates=incident.candidates,
        results=tuple(
            RecordedResult(q.query.template.id, q.query.bindings, q.result) for q in queries if q.result and q.answered
        ),
        labels=tuple(label for q in queries if (label := _label(answer, q))),
    )


def _label(answer: SavedAnswer, ranked: RankedQuery) -> Label | None:
    said = answer.said(ranked.query.id)
    grade = _GRADES.get(said.verdict) if said else None
    if grade is None:
        return None
    signal = ranked.result.signal if ranked.result else None
    return Label(ranked.query.template.id, ranked.query.bindings, grade, signal, proven=False)
