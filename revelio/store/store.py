"""Saves answers, results and feedback, and gives them back."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from pydantic import ConfigDict, TypeAdapter, ValidationError
from sqlalchemy import Row, and_, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from revelio.errors import NotFoundError, StoreError
from revelio.store.accounts import Accounts
from revelio.store.audit import AuditTrail, audit_row
from revelio.store.causes import Causes
from revelio.store.credentials import Sessions, Tokens
from revelio.store.engine import Database, as_store_error, check
from revelio.store.entries import ENTRY_COLUMNS, HistoryEntry, Verdict, best_verdict
from revelio.store.masking import mask
from revelio.store.replays import Replays
from revelio.store.resolutions import Resolutions
from revelio.store.snapshots import Snapshots
from revelio.store.tables import FeedbackRow, JoinedRow, RecommendationRow, RunRow, SnapshotRow
from revelio.support.current_actor import Actor
from revelio.systems.incidents.untyped_results import typed
from revelio.types import Evidence, RankedQuery, Recommendation, Result

# NaN and infinity have to survive, and a bare dataclass takes no configuration: hence the tuples of one.
_FIGURES = ConfigDict(ser_json_inf_nan="constants")
_ANSWER: TypeAdapter[tuple[Recommendation]] = TypeAdapter(tuple[Recommendation], config=_FIGURES)
_RANKED: TypeAdapter[tuple[RankedQuery]] = TypeAdapter(tuple[RankedQuery], config=_FIGURES)
_RESULT: TypeAdapter[tuple[Result]] = TypeAdapter(tuple[Result], config=_FIGURES)


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a person said about one query (``query_id``) or about the answer as a whole (None). ``given_at`` in Unix seconds.

    ``by`` is the author's name; "" when accounts are off.
    """

    query_id: str | None
    verdict: Verdict
    note: str
    given_at: float
    by: str = ""


@dataclass(frozen=True, slots=True)
class SavedAnswer:
    """An answer with everything that came after it: each query carries its latest result, feedback is in order of time.

    ``recorded`` is the id of the recorded incident that was asked about; None for a live system. The last ``joined`` queries
    joined after the answer was given, because results brought them up.
    """

    id: str
    saved_at: float
    recorded: str | None
    recommendation: Recommendation
    feedback: tuple[Feedback, ...] = ()
    joined: int = 0

    @property
    def given(self) -> int:
        """How many queries the answer had when it was given."""
        return len(self.recommendation.queries) - self.joined

    @property
    def as_given(self) -> Recommendation:
        """The answer with the queries that it had when it was given."""
        return replace(self.recommendation, queries=self.recommendation.queries[: self.given])

    def ranked(self, query_id: str) -> RankedQuery:
        """One of the answer's queries; ``NotFoundError`` names those there are."""
        found = next((q for q in self.recommendation.queries if q.query.id == query_id), None)
        if found is None:
            there = ", ".join(q.query.id for q in self.recommendation.queries) or "none"
            raise NotFoundError(f"no query {query_id!r} in this answer; there are: {there}")
        return found

    def result(self, query_id: str) -> Result:
        """What one of the answer's queries showed when it was run; ``NotFoundError`` when it was not."""
        result = self.ranked(query_id).result
        if result is None:
            raise NotFoundError(f"{query_id} was not run yet")
        return result

    def said(self, query_id: str | None) -> Feedback | None:
        """The latest feedback on a query, or on the whole answer for None."""
        return next((f for f in reversed(self.feedback) if f.query_id == query_id), None)


class Store:
    """The database. Safe to share between threads; every method raises ``StoreError`` when the database fails."""

    def __init__(self, url: str, *, masked: Collection[str] = ()) -> None:
        """Open (and make, and bring up to date) the database at a SQLAlchemy address.

        Text of the kinds in ``masked`` (``revelio.store.masking``) is masked in reports and notes before saving.
        """
        self.database = Database.open(url)
        self.accounts = Accounts(self.database)
        self.sessions = Sessions(self.database)
        self.tokens = Tokens(self.database)
        self.audit = AuditTrail(self.database)
        self.replays = Replays(self.database)
        self.resolutions = Resolutions(self.database, masked)
        self.causes = Causes(self.database)
        self._snapshots = Snapshots()
        self._masked = tuple(masked)

    def close(self) -> None:
        """Let go of all connections."""
        self.database.close()

    def ping(self) -> None:
        """``StoreError`` where the database does not answer, lacks a table, or its disk has no room left."""
        check(self.database.engine)

    def save(self, recommendation: Recommendation, *, recorded: str | None = None) -> SavedAnswer:
        """Save an answer with its report masked. The new id is hard to guess, because it grants access to the answer."""
        evidence = recommendation.incident.evidence
        report = mask(recommendation.incident.report, self._masked)
        recommendation = replace(recommendation, incident=replace(recommendation.incident, report=report))
        top = recommendation.queries[0] if recommendation.queries else None
        saved = SavedAnswer(secrets.token_hex(8), time.time(), recorded, recommendation)
        row = {
            "id": saved.id,
            "saved_at": saved.saved_at,
            "system": recommendation.incident.system,
            "recorded": recorded,
            "report": report,
            "model": recommendation.model,
            "abstain": recommendation.no_fault_probability,
            "top_title": top.query.title.replace("\x00", "\ufffd") if top else "",
            "top_probability": top.probability if top else 0.0,
            "outcome": recommendation.outcome,
            "suspect": _suspect(recommendation),
            "answer": _ANSWER.dump_json((_with(Evidence(evidence.window, evidence.baseline), recommendation),)).decode(),
        }
        with as_store_error("keep the answer"), self.database.quick.begin() as connection:
            row["snapshot"] = self._snapshots.keep(connection, evidence)
            connection.execute(insert(RecommendationRow), row)
        return saved

    def note_outcome(self, recommendation_id: str, recommendation: Recommendation) -> None:
        """Remember what an answer says now, for lists."""
        told = {"outcome": recommendation.outcome, "suspect": _suspect(recommendation)}
        with as_store_error("keep the outcome"), self.database.quick.begin() as connection:
            connection.execute(update(RecommendationRow).where(RecommendationRow.id == recommendation_id).values(told))

    def load(self, recommendation_id: str) -> SavedAnswer:
        """The answer with its results and feedback; ``NotFoundError`` when there is none of that id."""
        with as_store_error("read the answer"), Session(self.database.engine) as session:
            row = session.get(RecommendationRow, recommendation_id) if recommendation_id.isalnum() else None
            if row is None:
                raise NotFoundError(f"no answer {recommendation_id!r} is stored here; /history lists those there are")
            snapshot = session.get(SnapshotRow, row.snapshot) if row.snapshot else None
            with _readable(row.id):
                answer = _answer(row.answer)
                if row.snapshot:
                    answer = _with(self._snapshots.read(snapshot.evidence if snapshot else ""), answer)
                return _with_later(session, SavedAnswer(row.id, row.saved_at, row.recorded, answer))

    def refresh(self, saved: SavedAnswer) -> SavedAnswer:
        """A loaded answer with all results, feedback and joined queries until now. What was given is not read again."""
        with as_store_error("read the answer"), Session(self.database.engine) as session, _readable(saved.id):
            return _with_later(session, replace(saved, recommendation=saved.as_given))

    def join(self, recommendation_id: str, ranked: RankedQuery) -> None:
        """Add a query to an answer, so that it can be run and judged; nothing happens when it is there already."""
        row = JoinedRow(
            recommendation_id=recommendation_id,
            query_id=ranked.query.id,
            ranked=_RANKED.dump_json((ranked,)).decode(),
        )
        with (
            suppress(IntegrityError),
            as_store_error("add a query to the answer", leave=IntegrityError),
            Session(self.database.durable) as session,
        ):
            session.add(row)
            session.commit()

    def save_result(self, recommendation_id: str, query_id: str, result: Result) -> None:
        """Keep what running one of an answer's queries showed."""
        row = RunRow(
            recommendation_id=recommendation_id,
            query_id=query_id,
            ran_at=time.time(),
            result=_RESULT.dump_json((result,)).decode(),
        )
        with as_store_error("keep the result"), Session(self.database.quick) as session:
            session.add(row)
            session.commit()

    def add_feedback(
        self, recommendation_id: str, query_id: str | None, verdict: Verdict, note: str = "", *, by: Actor | None = None
    ) -> Feedback:
        """Keep what a person said: when this returns it is on disk. ``NotFoundError`` when answer or query do not exist."""
        saved = self.load(recommendation_id)
        if query_id is not None:
            saved.ranked(query_id)
        actor = by or Actor("")
        row = FeedbackRow(
            recommendation_id=recommendation_id,
            query_id=query_id,
            verdict=verdict,
            note=mask(note, self._masked),
            given_at=time.time(),
            by=actor.name,
        )
        with as_store_error("keep the feedback"), Session(self.database.durable, expire_on_commit=False) as session:
            session.add(row)
            session.add(audit_row(actor, "feedback", recommendation_id, f"{verdict} {query_id or ''}".strip()))
            session.commit()
        return _feedback(row)

    def withdraw_feedback(self, recommendation_id: str, query_id: str, *, by: Actor | None = None) -> None:
        """Take back all that was said about one query; the audit trail keeps both."""
        gone = delete(FeedbackRow).where(FeedbackRow.recommendation_id == recommendation_id, FeedbackRow.query_id == query_id)
        with as_store_error("withdraw the feedback"), Session(self.database.durable) as session:
            session.execute(gone)
            session.add(audit_row(by or Actor(""), "feedback", recommendation_id, f"withdrawn {query_id}"))
            session.commit()

    def history(
        self, limit: int = 50, before: float | None = None, *, past: tuple[float, str] | None = None
    ) -> tuple[HistoryEntry, ...]:
        """The latest answers, newest first.

        ``before`` (Unix seconds) pages on to older ones; so does ``past``, ``saved_at`` and id of the last one seen, which
        leaves none out even when several were saved at once.
        """
        wanted = select(*ENTRY_COLUMNS).order_by(RecommendationRow.saved_at.desc(), RecommendationRow.id).limit(limit)
        if before is not None:
            wanted = wanted.where(RecommendationRow.saved_at < before)
        if past is not None:
            moment, last = past
            tied = and_(RecommendationRow.saved_at == moment, RecommendationRow.id > last)
            wanted = wanted.where(or_(RecommendationRow.saved_at < moment, tied))
        with as_store_error("read the history"), Session(self.database.engine) as session:
            rows = session.execute(wanted).all()
            ids = [row.id for row in rows]
            said = session.execute(
                select(FeedbackRow.recommendation_id, FeedbackRow.query_id, FeedbackRow.verdict)
                .where(FeedbackRow.recommendation_id.in_(ids))
                .order_by(FeedbackRow.id)
            ).all()
        latest = {(s.recommendation_id, s.query_id): cast(Verdict, s.verdict) for s in said}
        return tuple(self.entry(row, best_verdict([v for (answer, _), v in latest.items() if answer == row.id])) for row in rows)

    def entry(self, row: Row[*tuple[Any, ...]], verdict: Verdict | None) -> HistoryEntry:
        """The line of one row of ``ENTRY_COLUMNS``. Where an older version saved no outcome, the answer itself says it."""
        told = dict(row._mapping)
        if row.outcome is None:
            answer = self.load(row.id).recommendation
            told |= {"outcome": answer.outcome, "suspect": _suspect(answer)}
        return HistoryEntry(**told | {"suspect": told["suspect"] or "", "verdict": verdict})


@contextmanager
def _readable(answer_id: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise StoreError(f"the stored answer {answer_id} cannot be read by this version: {why}") from error


def _with_later(session: Session, saved: SavedAnswer) -> SavedAnswer:
    """The answer as it was given, with the results, feedback and queries that came later."""
    runs = session.scalars(select(RunRow).where(RunRow.recommendation_id == saved.id).order_by(RunRow.id)).all()
    said = session.scalars(select(FeedbackRow).where(FeedbackRow.recommendation_id == saved.id).order_by(FeedbackRow.id)).all()
    joined = session.scalars(select(JoinedRow).where(JoinedRow.recommendation_id == saved.id).order_by(JoinedRow.id)).all()
    given = saved.recommendation.queries
    later = [_typed(_RANKED.validate_json(j.ranked)[0]) for j in joined]
    results = {run.query_id: typed(_RESULT.validate_json(run.result)[0]) for run in runs}
    everything = (*given, *(replace(q, rank=place) for place, q in enumerate(later, len(given) + 1)))
    queries = tuple(replace(q, result=results.get(q.query.id, q.result)) for q in everything)
    answer = replace(saved.recommendation, queries=queries)
    return replace(saved, recommendation=answer, feedback=tuple(_feedback(f) for f in said), joined=len(joined))


def _answer(text: str) -> Recommendation:
    """A stored recommendation; older versions wrote ``abstain`` for ``no_fault_probability`` and results without a kind."""
    (stored,) = json.loads(text)
    if isinstance(stored, dict) and "abstain" in stored:
        stored["no_fault_probability"] = stored.pop("abstain")
    (recommendation,) = _ANSWER.validate_python((stored,))
    return replace(recommendation, queries=tuple(map(_typed, recommendation.queries)))


def _typed(ranked: RankedQuery) -> RankedQuery:
    return replace(ranked, result=typed(ranked.result)) if ranked.result else ranked


def _suspect(answer: Recommendation) -> str:
    """The target of the first query, where the answer says that something points at a fault."""
    entities = answer.queries[0].query.entities if answer.outcome == "fault" else ()
    return entities[0].name.replace("\x00", "\ufffd") if entities else ""


def _feedback(row: FeedbackRow) -> Feedback:
    return Feedback(row.query_id, cast(Verdict, row.verdict), row.note, row.given_at, row.by)


def _with(evidence: Evidence, recommendation: Recommendation) -> Recommendation:
    return replace(recommendation, incident=replace(recommendation.incident, evidence=evidence))
