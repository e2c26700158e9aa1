"""What an answer said, its suspect, and how its incident was resolved."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Answers that are there say what they said when they are next listed."""
    op.add_column("recommendations", sa.Column("outcome", sa.String(16), nullable=True))
    op.add_column("recommendations", sa.Column("suspect", sa.Text(), nullable=True))
    op.create_table(
        "resolutions",
        sa.Column("recommendation_id", sa.String(32), sa.ForeignKey("recommendations.id"), primary_key=True),
        sa.Column("query_id", sa.Text(), nullable=True),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("resolved_at", sa.Float(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False, server_default=""),
    )


def downgrade() -> None:
    """Resolutions are lost."""
    op.drop_table("resolutions")
    op.drop_column("recommendations", "suspect")
    op.drop_column("recommendations", "outcome")
