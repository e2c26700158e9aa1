"""Evidence in rows of its own, once however many answers were given on it."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Answers that are there keep their evidence in themselves."""
    op.create_table(
        "snapshots",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("evidence", sa.Text(), nullable=False),
    )
    op.add_column("recommendations", sa.Column("snapshot", sa.String(64), nullable=True))
    op.create_index("ix_recommendations_snapshot", "recommendations", ["snapshot"])


def downgrade() -> None:
    """Put the evidence back into the answers, one after the other: they can be large."""
    bind = op.get_bind()
    answers, snapshots = (
        sa.table("recommendations", *map(sa.column, ("id", "answer", "snapshot"))),
        sa.table("snapshots", *map(sa.column, ("digest", "evidence"))),
    )
    for name in bind.scalars(sa.select(answers.c.id).where(answers.c.snapshot.is_not(None))).all():
        both = sa.select(answers.c.answer, snapshots.c.evidence).where(
            answers.c.id == name, snapshots.c.digest == answers.c.snapshot
        )
        answer, evidence = (json.loads(text) for text in bind.execute(both).one())
        answer[0]["incident"]["evidence"] = evidence[0]
        bind.execute(sa.update(answers).where(answers.c.id == name).values(answer=json.dumps(answer, ensure_ascii=False)))
    op.drop_index("ix_recommendations_snapshot", "recommendations")
    op.drop_column("recommendations", "snapshot")
    op.drop_table("snapshots")
