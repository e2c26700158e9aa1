"""Forgets what is older than it may become."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import Select, delete, func, select

from revelio.store.engine import Database, as_store_error
from revelio.store.replays import KEPT_S
from revelio.store.snapshots import forget_unused
from revelio.store.tables import (
    ALERTS,
    DELIVERIES,
    AuditRow,
    FeedbackRow,
    JoinedRow,
    RecommendationRow,
    ReplayRow,
    ResolutionRow,
    RunRow,
    SessionRow,
)

_AT_ONCE = 200
"""Answers per transaction, so that feedback does not wait for a long one."""
DELIVERY_KEPT_S = 7 * 86_400.0
"""How long a delivery id is stored, in seconds: far longer than senders retry."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many rows are gone (or would be)."""

    answers: int
    runs: int
    feedback: int
    audit: int
    alerts: int = 0


def prune(database: Database, days: float, *, keep_feedback: bool = False, only_count: bool = False) -> Pruned:
    """Delete answers (with results and feedback), alerts and lines of the audit trail older than ``days`` days.

    With ``keep_feedback`` answers with feedback stay, for learning. The age of an alert counts from
    its opening, so that unresolved alerts are removed too; a later repeat opens a new incident.
    Sessions that have ended, replies and deliveries past their time go as well.
    """
    limit = time.time() - days * 86400
    answers = select(RecommendationRow.id).where(RecommendationRow.saved_at < limit)
    if keep_feedback:
        answers = answers.where(RecommendationRow.id.not_in(select(FeedbackRow.recommendation_id)))
    with as_store_error("count what is old"), database.engine.connect() as connection:

        def count(rows: Select[int]) -> int:
            return connection.scalar(rows) or 0

        found = Pruned(
            count(select(func.count()).select_from(answers.subquery())),
            count(select(func.count(RunRow.id)).where(RunRow.recommendation_id.in_(answers))),
            count(select(func.count(FeedbackRow.id)).where(FeedbackRow.recommendation_id.in_(answers))),
            count(select(func.count(AuditRow.id)).where(AuditRow.at < limit)),
            count(select(func.count()).select_from(ALERTS).where(ALERTS.c.opened_at < limit)),
        )
    if not only_count:
        _delete(database, answers, limit)
    return found


def _delete(database: Database, answers: Select[str], limit: float) -> None:
    with as_store_error("forget what is old"):
        while True:
            with database.durable.begin() as connection:
                ids = list(connection.scalars(answers.limit(_AT_ONCE)))
                for table in (JoinedRow, RunRow, FeedbackRow, ResolutionRow):
                    connection.execute(delete(table).where(table.recommendation_id.in_(ids)))
                connection.execute(delete(RecommendationRow).where(RecommendationRow.id.in_(ids)))
                forget_unused(connection)
            if len(ids) < _AT_ONCE:
                break
        with database.durable.begin() as connection:
            connection.execute(delete(AuditRow).where(AuditRow.at < limit))
            connection.execute(delete(SessionRow).where(SessionRow.expires_at < time.time()))
            connection.execute(delete(ReplayRow).where(ReplayRow.at < time.time() - KEPT_S))
            connection.execute(delete(ALERTS).where(ALERTS.c.opened_at < limit))
            connection.execute(delete(DELIVERIES).where(DELIVERIES.c.taken_at < time.time() - DELIVERY_KEPT_S))
