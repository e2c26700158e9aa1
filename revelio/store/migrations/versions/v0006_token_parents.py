"""Tokens remember the token that created them, and end with it."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add a column; tokens that exist have no known parent."""
    op.add_column("tokens", sa.Column("parent_id", sa.String(16), nullable=True))


def downgrade() -> None:
    """Drop it again."""
    with op.batch_alter_table("tokens") as table:
        table.drop_column("parent_id")
