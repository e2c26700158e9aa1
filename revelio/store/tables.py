"""The tables. A change here needs a migration in ``migrations/versions``; a test compares the two."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, String, Table, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    """Base of all tables."""


class RecommendationRow(Base):
    """One answer as it was given: ``answer`` is the ``Recommendation`` as JSON, without the evidence, which ``snapshot`` names.

    Where ``snapshot`` is null, the evidence is in ``answer``, as all of it once was.
    """

    __tablename__ = "recommendations"
    __table_args__ = (Index("ix_recommendations_saved_at", "saved_at"), Index("ix_recommendations_snapshot", "snapshot"))

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
    snapshot: Mapped[str | None] = mapped_column(String(64))
    outcome: Mapped[str | None] = mapped_column(String(16))
    suspect: Mapped[str | None] = mapped_column(Text)


class ResolutionRow(Base):
    """How the incident of an answer was resolved: its cause in words, and the query that showed it, where one did."""

    __tablename__ = "resolutions"

    recommendation_id: Mapped[str] = mapped_column(ForeignKey("recommendations.id"), primary_key=True)
    query_id: Mapped[str | None] = mapped_column(Text)
    cause: Mapped[str] = mapped_column(Text)
    resolved_at: Mapped[float] = mapped_column(Float)
    by: Mapped[str] = mapped_column(Text, server_default="")


class SnapshotRow(Base):
    """The evidence of one or more answers as JSON; ``digest`` is its SHA-256.

    Answers refer to it without a foreign key: SQLite could not take a column with one away again.
    """

    __tablename__ = "snapshots"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    evidence: Mapped[str] = mapped_column(Text)


class JoinedRow(Base):
    """A query that joined an answer after it was given: ``ranked`` is its ``RankedQuery`` as JSON, as first ranked."""

    __tablename__ = "joined_queries"
    __table_args__ = (UniqueConstraint("recommendation_id", "query_id", name="uq_joined_queries"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    recommendation_id: Mapped[str] = mapped_column(ForeignKey("recommendations.id"))
    query_id: Mapped[str] = mapped_column(Text)
    ranked: Mapped[str] = mapped_column(Text)


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
    by: Mapped[str] = mapped_column(Text, server_default="")


class UserRow(Base):
    """A user account; without ``password_hash`` only the identity provider can sign it in, as ``subject``."""

    __tablename__ = "users"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    name: Mapped[str] = mapped_column(String(100), unique=True)
    role: Mapped[str] = mapped_column(String(16))
    password_hash: Mapped[str | None] = mapped_column(Text)
    subject: Mapped[str | None] = mapped_column(String(500), unique=True)
    created_at: Mapped[float] = mapped_column(Float)


class SessionRow(Base):
    """A browser that is signed in; ``digest`` is of the secret in its cookie."""

    __tablename__ = "sessions"
    __table_args__ = (Index("ix_sessions_user_id", "user_id"),)

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    created_at: Mapped[float] = mapped_column(Float)
    expires_at: Mapped[float] = mapped_column(Float)


class TokenRow(Base):
    """An API token of a user; only its ``digest`` is stored. ``parent_id`` is the token that created it, if one did."""

    __tablename__ = "tokens"
    __table_args__ = (Index("ix_tokens_user_id", "user_id"),)

    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    role: Mapped[str] = mapped_column(String(16))
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[float] = mapped_column(Float)
    expires_at: Mapped[float | None] = mapped_column(Float)
    last_used_at: Mapped[float | None] = mapped_column(Float)
    parent_id: Mapped[str | None] = mapped_column(String(16))


class AuditRow(Base):
    """Who did what, from where. Rows are only ever added, and pruned by age."""

    __tablename__ = "audit"
    __table_args__ = (Index("ix_audit_at", "at"),)

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    at: Mapped[float] = mapped_column(Float)
    actor: Mapped[str] = mapped_column(Text)
    action: Mapped[str] = mapped_column(String(40))
    target: Mapped[str] = mapped_column(Text)
    detail: Mapped[str] = mapped_column(Text)
    address: Mapped[str] = mapped_column(Text)


class ReplayRow(Base):
    """The reply to a request that carried an idempotency key; ``status`` is null while the request is still worked on."""

    __tablename__ = "replays"
    __table_args__ = (Index("ix_replays_at", "at"),)

    caller: Mapped[str] = mapped_column(String(120), primary_key=True)
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64))
    at: Mapped[float] = mapped_column(Float)
    status: Mapped[int | None]
    media_type: Mapped[str] = mapped_column(String(100))
    body: Mapped[bytes] = mapped_column(LargeBinary)


DELIVERIES = Table(
    "integration_deliveries",
    Base.metadata,
    Column("key", String(300), primary_key=True),
    Column("taken_at", Float, nullable=False, index=True),
)
"""Deliveries that integrations took already."""

ALERTS = Table(
    "integration_alerts",
    Base.metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("source", String(32), nullable=False),
    Column("key", String(64), nullable=False, index=True),
    Column("open_key", String(64), unique=True),
    Column("started", String(64), nullable=False),
    Column("title", Text, nullable=False),
    Column("report", Text, nullable=False),
    Column("system", Text, nullable=False),
    Column("link", Text, nullable=False),
    Column("opened_at", Float, nullable=False),
    Column("repeats", Integer, nullable=False),
    Column("resolved_at", Float),
    Column("claimed_at", Float),
    Column("answer_id", Text),
    Column("failure", Text),
    Column("channel", Text),
    Column("thread", Text),
)
"""Incidents that alerts opened; ``open_key`` is null once they are resolved."""
