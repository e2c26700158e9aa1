"""Searches what was asked: by words, system, verdict and time, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import ColumnElement, Select, and_, exists, func, or_, select
from sqlalchemy.orm import Session

from revelio.store.engine import as_store_error
from revelio.store.entries import ENTRY_COLUMNS, HistoryEntry, Verdict
from revelio.store.store import Store
from revelio.store.tables import FeedbackRow, RecommendationRow

Judged = Literal["found", "helpful", "not_useful", "none"]
"""The best verdict on an answer's queries; ``none`` without feedback."""

_BEST_FIRST: tuple[Verdict, ...] = ("found", "helpful", "not_useful")


@dataclass(frozen=True, slots=True)
class Search:
    """What to look for; empty parts match everything. Times are Unix seconds: from ``since`` on, before ``until``.

    ``text`` is looked for in reports, in the notes that people left and in the title of the first query; ``live_only`` leaves
    out answers about recorded incidents.
    """

    text: str = ""
    system: str = ""
    judged: Judged | None = None
    since: float | None = None
    until: float | None = None
    live_only: bool = False


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """One answer of the history; ``note`` came with its best verdict."""

    entry: HistoryEntry
    note: str


@dataclass(frozen=True, slots=True)
class SearchPage:
    """One page of a search, newest first, and how many answers match in all."""

    answers: tuple[FoundAnswer, ...]
    total: int


def search_history(store: Store, wanted: Search, *, limit: int = 25, offset: int = 0) -> SearchPage:
    """The answers that match; ``StoreError`` when the database fails."""
    conditions = _conditions(wanted)
    row = RecommendationRow
    page = select(*ENTRY_COLUMNS).where(*conditions).order_by(row.saved_at.desc(), row.id).limit(limit).offset(offset)
    with as_store_error("search the history"), Session(store.database.engine) as session:
        total = session.scalar(select(func.count()).select_from(row).where(*conditions)) or 0
        found = session.execute(page).all()
        said = session.execute(
            select(FeedbackRow.recommendation_id, FeedbackRow.verdict, FeedbackRow.note).where(
                FeedbackRow.recommendation_id.in_([f.id for f in found]), FeedbackRow.id.in_(_latest())
            )
        ).all()
    best: dict[str, tuple[Verdict, str]] = {}
    for one in sorted(said, key=lambda s: (_BEST_FIRST.index(cast(Verdict, s.verdict)), not s.note)):
        best.setdefault(one.recommendation_id, (cast(Verdict, one.verdict), one.note))
    return SearchPage(
        tuple(FoundAnswer(store.entry(f, best[f.id][0] if f.id in best else None), best.get(f.id, ("", ""))[1]) for f in found),
        total,
    )


def asked_systems(store: Store) -> tuple[str, ...]:
    """The names of all systems that were ever asked about, sorted."""
    with as_store_error("read the history"), Session(store.database.engine) as session:
        return tuple(session.scalars(select(RecommendationRow.system).distinct().order_by(RecommendationRow.system)))


def _latest() -> Select[int]:
    """The last word on each query counts."""
    return select(func.max(FeedbackRow.id)).group_by(FeedbackRow.recommendation_id, FeedbackRow.query_id)


def _said(*verdicts: Verdict) -> ColumnElement[bool]:
    return exists().where(
        FeedbackRow.recommendation_id == RecommendationRow.id,
        FeedbackRow.id.in_(_latest()),
        FeedbackRow.verdict.in_(verdicts),
    )


def _conditions(wanted: Search) -> list[ColumnElement[bool]]:
    row = RecommendationRow
    found: list[ColumnElement[bool]] = []
    # Each word has to occur, in any order: people remember words, not sentences.
    for word in wanted.text.split()[:20]:
        noted = exists().where(FeedbackRow.recommendation_id == row.id, FeedbackRow.note.icontains(word, autoescape=True))
        found.append(or_(row.report.icontains(word, autoescape=True), row.top_title.icontains(word, autoescape=True), noted))
    if wanted.system:
        found.append(row.system == wanted.system)
    if wanted.live_only:
        found.append(row.recorded.is_(None))
    if wanted.since is not None:
        found.append(row.saved_at >= wanted.since)
    if wanted.until is not None:
        found.append(row.saved_at < wanted.until)
    if wanted.judged == "none":
        found.append(~_said(*_BEST_FIRST))
    elif wanted.judged is not None:
        better = _BEST_FIRST[: _BEST_FIRST.index(wanted.judged)]
        found.append(and_(_said(wanted.judged), ~_said(*better)) if better else _said(wanted.judged))
    return found
