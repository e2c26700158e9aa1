"""Answers that people judged: what there is to learn from."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from revelio.store.engine import as_store_error
from revelio.store.store import SavedAnswer, Store
from revelio.store.tables import FeedbackRow


def judged_answers(store: Store, newest: int) -> Iterator[SavedAnswer]:
    """The answers that were judged last, the latest judged first; ``StoreError`` when the database fails.

    Each carries the evidence as it was seen when it was given.
    """
    last = func.max(FeedbackRow.id)
    wanted = select(FeedbackRow.recommendation_id).group_by(FeedbackRow.recommendation_id).order_by(last.desc()).limit(newest)
    with as_store_error("read the feedback"), Session(store.database.engine) as session:
        ids = session.scalars(wanted).all()
    for answer_id in ids:
        yield store.load(answer_id)


def verdicts_after(store: Store, moment: float) -> int:
    """How many verdicts on single queries were given after a moment (Unix seconds)."""
    wanted = select(func.count()).select_from(FeedbackRow).where(FeedbackRow.given_at > moment, FeedbackRow.query_id.is_not(None))
    with as_store_error("read the feedback"), Session(store.database.engine) as session:
        return session.scalar(wanted) or 0
