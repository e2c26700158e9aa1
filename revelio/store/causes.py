"""Past answers whose cause people found, or noted when they resolved the incident."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import ColumnElement, exists, func, or_, select
from sqlalchemy.orm import Session

from revelio.store.engine import Database, as_store_error
from revelio.store.tables import FeedbackRow, RecommendationRow, ResolutionRow


@dataclass(frozen=True, slots=True)
class KnownCause:
    """What was found: the cause in words ("" where nobody wrote it down), and the query that showed it (None: not known)."""

    words: str
    query_id: str | None


class Causes:
    """The known causes of a database. Safe to share between threads; every method raises ``StoreError`` when that fails."""

    def __init__(self, database: Database) -> None:
        """Nothing is read yet."""
        self._database = database

    def revision(self) -> str:
        """A text that changes whenever a cause is found, taken back, or forgotten."""
        counted = select(
            select(func.max(FeedbackRow.id)).scalar_subquery(),
            select(func.count(FeedbackRow.id)).scalar_subquery(),
            select(func.max(ResolutionRow.resolved_at)).scalar_subquery(),
            select(func.count()).select_from(ResolutionRow).scalar_subquery(),
        )
        with as_store_error("read the known causes"), Session(self._database.engine) as session:
            return "-".join("" if part is None else str(part) for part in session.execute(counted).one())

    def known(self) -> tuple[str, ...]:
        """The ids of all answers with a known cause, newest first."""
        row = RecommendationRow
        wanted = select(row.id).where(_known()).order_by(row.saved_at.desc(), row.id)
        with as_store_error("read the known causes"), Session(self._database.engine) as session:
            return tuple(session.scalars(wanted))

    def of(self, ids: Collection[str]) -> dict[str, KnownCause]:
        """The causes of these answers; those without one are left out."""
        with as_store_error("read the known causes"), Session(self._database.engine) as session:
            resolved = session.scalars(select(ResolutionRow).where(ResolutionRow.recommendation_id.in_(ids))).all()
            found = session.scalars(
                select(FeedbackRow)
                .where(FeedbackRow.recommendation_id.in_(ids), FeedbackRow.id.in_(_latest()), FeedbackRow.verdict == "found")
                .order_by(FeedbackRow.id)
            ).all()
        causes = {row.recommendation_id: KnownCause(row.note, row.query_id) for row in found}
        for row in resolved:
            shown = causes.get(row.recommendation_id, KnownCause("", None))
            causes[row.recommendation_id] = KnownCause(row.cause or shown.words, row.query_id or shown.query_id)
        return causes


def _latest() -> ColumnElement[int]:
    """The last word on each query counts."""
    return select(func.max(FeedbackRow.id)).group_by(FeedbackRow.recommendation_id, FeedbackRow.query_id).scalar_subquery()


def _known() -> ColumnElement[bool]:
    found = exists().where(
        FeedbackRow.recommendation_id == RecommendationRow.id, FeedbackRow.id.in_(_latest()), FeedbackRow.verdict == "found"
    )
    return or_(found, exists().where(ResolutionRow.recommendation_id == RecommendationRow.id))
