"""What integrations remember, and queries that joined an answer after it was given."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make three tables; the first two are there already where alerts or deliveries were taken before this migration."""
    there = sa.inspect(op.get_bind()).get_table_names()
    if "integration_deliveries" not in there:
        _deliveries()
    if "integration_alerts" not in there:
        _alerts()
    op.create_table(
        "joined_queries",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("recommendation_id", sa.String(32), sa.ForeignKey("recommendations.id"), nullable=False),
        sa.Column("query_id", sa.Text(), nullable=False),
        sa.Column("ranked", sa.Text(), nullable=False),
        sa.UniqueConstraint("recommendation_id", "query_id", name="uq_joined_queries"),
    )


def downgrade() -> None:
    """Drop them again, with what they hold."""
    for table in ("joined_queries", "integration_alerts", "integration_deliveries"):
        op.drop_table(table)


def _deliveries() -> None:
    op.create_table(
        "integration_deliveries",
        sa.Column("key", sa.String(300), primary_key=True),
        sa.Column("taken_at", sa.Float(), nullable=False),
    )
    op.create_index("ix_integration_deliveries_taken_at", "integration_deliveries", ["taken_at"])


def _alerts() -> None:
    op.create_table(
        "integration_alerts",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("source", sa.String(32), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("open_key", sa.String(64), nullable=True, unique=True),
        sa.Column("started", sa.String(64), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("system", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=False),
        sa.Column("opened_at", sa.Float(), nullable=False),
        sa.Column("repeats", sa.Integer(), nullable=False),
        sa.Column("resolved_at", sa.Float(), nullable=True),
        sa.Column("claimed_at", sa.Float(), nullable=True),
        sa.Column("answer_id", sa.Text(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("channel", sa.Text(), nullable=True),
        sa.Column("thread", sa.Text(), nullable=True),
    )
    op.create_index("ix_integration_alerts_key", "integration_alerts", ["key"])
