"""The audit trail: who did what, from where. It is only ever added to."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from revelio.store.engine import Database, as_store_error
from revelio.store.tables import AuditRow
from revelio.support.current_actor import Actor


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One line of the trail; ``at`` in Unix seconds."""

    id: int
    at: float
    actor: str
    action: str
    target: str
    detail: str
    address: str


def audit_row(actor: Actor, action: str, target: str = "", detail: str = "") -> AuditRow:
    """A row to insert in the transaction of the change it records, so that neither is saved alone."""
    who, what, words = _plain(actor.name), _plain(target), _plain(detail)
    return AuditRow(at=time.time(), actor=who, action=action, target=what, detail=words, address=actor.address)


class AuditTrail:
    """Reads the trail, and adds what happens outside of any other transaction."""

    def __init__(self, database: Database) -> None:
        """On an open database."""
        self._database = database

    def add(self, actor: Actor, action: str, target: str = "", detail: str = "") -> None:
        """Keep one line; on disk when this returns."""
        with as_store_error("keep the audit trail"), Session(self._database.durable) as session:
            session.add(audit_row(actor, action, target, detail))
            session.commit()

    def list(self, limit: int = 50, past: int | None = None, action: str | None = None) -> tuple[AuditEntry, ...]:
        """The latest lines, newest first; ``past`` (the id of the last one seen) pages on to older ones."""
        wanted = select(AuditRow).order_by(AuditRow.id.desc()).limit(limit)
        if past is not None:
            wanted = wanted.where(AuditRow.id < past)
        if action is not None:
            wanted = wanted.where(AuditRow.action == action)
        with as_store_error("read the audit trail"), Session(self._database.engine) as session:
            return tuple(
                AuditEntry(r.id, r.at, r.actor, r.action, r.target, r.detail, r.address) for r in session.scalars(wanted)
            )


def _plain(text: str) -> str:
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()[:1000]
