"""Answers, runs and feedback."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first three tables."""
    op.create_table(
        "recommendations",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("saved_at", sa.Float(), nullable=False),
        sa.Column("system", sa.Text(), nullable=False),
        sa.Column("recorded", sa.Text(), nullable=True),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("abstain", sa.Float(), nullable=False),
        sa.Column("top_title", sa.Text(), nullable=False),
        sa.Column("top_probability", sa.Float(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
    )
    op.create_index("ix_recommendations_saved_at", "recommendations", ["saved_at"])
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("recommendation_id", sa.String(32), sa.ForeignKey("recommendations.id"), nullable=False),
        sa.Column("query_id", sa.Text(), nullable=False),
        sa.Column("ran_at", sa.Float(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
    )
    op.create_index("ix_runs_recommendation_id", "runs", ["recommendation_id"])
    op.create_table(
        "feedback",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("recommendation_id", sa.String(32), sa.ForeignKey("recommendations.id"), nullable=False),
        sa.Column("query_id", sa.Text(), nullable=True),
        sa.Column("verdict", sa.String(16), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("given_at", sa.Float(), nullable=False),
    )
    op.create_index("ix_feedback_recommendation_id", "feedback", ["recommendation_id"])


def downgrade() -> None:
    """Drop them again, with what they hold."""
    op.drop_table("feedback")
    op.drop_table("runs")
    op.drop_table("recommendations")
