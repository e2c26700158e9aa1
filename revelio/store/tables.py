"""The tables. A change here needs a migration in ``migrations/versions``; a test compares the two."""

from __future__ import annotations

from sqlalchemy import Float, ForeignKey, Index, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """Base of all tables."""


class RecommendationRow(Base):
    """One answer as it was given: ``answer`` is the whole ``Recommendation``, evidence included, as JSON."""

    __tablename__ = "recommendations"
    __table_args__ = (Index("ix_recommendations_saved_at", "saved_at"),)

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    saved_at: Mapped[float] = mapped_column(Float)
    system: Mapped[str] = mapped_column(Text)
    recorded: Mapped[str | None] = mapped_column(Text)
    report: Mapped[str] = mapped_column(Text)
    model: Mapped[str] = mapped_column(Text)
    abstain: Mapped[float] = mapped_column(Float)
    top_title: Mapped[str] = mapped_column(Text)
    top_probability: Mapped[float] = mapped_column(Float)
    answer: Mapped[str] = mapped_column(Text)


class RunRow(Base):
    """One execution of one of an answer's queries, after the answer was given."""

    __tablename__ = "runs"
    __table_args__ = (Index("ix_runs_recommendation_id", "recommendation_id"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    recommendation_id: Mapped[str] = mapped_column(ForeignKey("recommendations.id"))
    query_id: Mapped[str] = mapped_column(Text)
    ran_at: Mapped[float] = mapped_column(Float)
    result: Mapped[str] = mapped_column(Text)


class FeedbackRow(Base):
    """What a person said about an answer; ``query_id`` is null when it was about the answer as a whole."""

    __tablename__ = "feedback"
    __table_args__ = (Index("ix_feedback_recommendation_id", "recommendation_id"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    recommendation_id: Mapped[str] = mapped_column(ForeignKey("recommendations.id"))
    query_id: Mapped[str | None] = mapped_column(Text)
    verdict: Mapped[str] = mapped_column(String(16))
    note: Mapped[str] = mapped_column(Text)
    given_at: Mapped[float] = mapped_column(Float)
