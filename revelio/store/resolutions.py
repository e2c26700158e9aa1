"""How incidents were resolved, and whether an answer changed since it was last looked at."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from revelio.store.audit import audit_row
from revelio.store.engine import Database, as_store_error
from revelio.store.masking import mask
from revelio.store.tables import FeedbackRow, JoinedRow, ResolutionRow, RunRow
from revelio.support.current_actor import Actor


@dataclass(frozen=True, slots=True)
class Resolution:
    """The cause in words, the query that showed it (None where none did), when, and who ("" when accounts are off)."""

    cause: str
    query_id: str | None
    resolved_at: float
    by: str


class Resolutions:
    """The resolutions of a database. Safe to share between threads; every method raises ``StoreError`` when that fails."""

    def __init__(self, database: Database, masked: Collection[str] = ()) -> None:
        """Text of the kinds in ``masked`` is masked in causes before saving."""
        self._database = database
        self._masked = tuple(masked)

    def get(self, answer_id: str) -> Resolution | None:
        """How the incident of an answer was resolved; None while it is open."""
        with as_store_error("read the resolution"), Session(self._database.engine) as session:
            row = session.get(ResolutionRow, answer_id)
            return Resolution(row.cause, row.query_id, row.resolved_at, row.by) if row else None

    def resolve(self, answer_id: str, cause: str, query_id: str | None, by: Actor) -> None:
        """Mark as resolved, in place of an earlier resolution; on disk when this returns. The answer has to exist."""
        row = ResolutionRow(
            recommendation_id=answer_id, query_id=query_id, cause=mask(cause, self._masked), resolved_at=time.time(), by=by.name
        )
        with as_store_error("resolve the incident"), Session(self._database.durable) as session:
            session.merge(row)
            session.add(audit_row(by, "resolve", answer_id, query_id or ""))
            session.commit()

    def reopen(self, answer_id: str, by: Actor) -> None:
        """Mark as open again."""
        with as_store_error("open the incident again"), Session(self._database.durable) as session:
            session.execute(delete(ResolutionRow).where(ResolutionRow.recommendation_id == answer_id))
            session.add(audit_row(by, "reopen", answer_id, ""))
            session.commit()

    def revision(self, answer_id: str) -> str:
        """A text that changes with every result, verdict and resolution of an answer; the same for answers without any."""
        of = {table: table.recommendation_id == answer_id for table in (RunRow, FeedbackRow, JoinedRow, ResolutionRow)}
        wanted = select(
            select(func.max(RunRow.id)).where(of[RunRow]).scalar_subquery(),
            select(func.count(FeedbackRow.id)).where(of[FeedbackRow]).scalar_subquery(),
            select(func.max(FeedbackRow.id)).where(of[FeedbackRow]).scalar_subquery(),
            select(func.max(JoinedRow.id)).where(of[JoinedRow]).scalar_subquery(),
            select(func.max(ResolutionRow.resolved_at)).where(of[ResolutionRow]).scalar_subquery(),
        )
        with as_store_error("read the answer's revision"), Session(self._database.engine) as session:
            return "-".join("" if part is None else str(part) for part in session.execute(wanted).one())
