"""Incidents opened by alerts: one per alert, however often it repeats, and its outcome."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from revelio.errors import NotFoundError, StoreError
from revelio.integrations.alerts import Alert
from revelio.store.engine import Database, as_store_error
from revelio.store.masking import mask
from revelio.store.tables import ALERTS

Outcome = Literal["opened", "repeated", "resolved", "ignored"]
CLAIM_S = 120.0
"""How long one process may take over an answer before another may try, in seconds."""


@dataclass(frozen=True, slots=True)
class AlertIncident:
    """One incident opened by alerts. Times in Unix seconds; ``answer_id`` is None until it is answered."""

    id: int
    source: str
    started: str
    title: str
    report: str
    system: str
    link: str
    opened_at: float
    repeats: int
    resolved_at: float | None
    answer_id: str | None
    failure: str | None
    channel: str | None
    thread: str | None


_COLUMNS = [ALERTS.c[name] for name in AlertIncident.__slots__]


class AlertStore:
    """Safe to share between threads and processes. Every method raises ``StoreError`` when the database fails."""

    def __init__(self, database: Database, *, masked: Collection[str] = ()) -> None:
        """In the store's own database. Text of the kinds in ``masked`` (``revelio.store.masking``) is masked before saving."""
        self._engine, self._masked = database.durable, tuple(masked)

    def fold(self, alert: Alert, system: str) -> tuple[AlertIncident | None, Outcome]:
        """Open an incident, or count the alert to the one that it belongs to. On disk when this returns."""
        title, report = (mask(text, self._masked) for text in (alert.title, alert.report))
        alert = replace(alert, title=title, report=report)
        with as_store_error("note an alert"):
            for _ in range(3):
                try:
                    with self._engine.begin() as connection:
                        return _end(connection, alert) if alert.status == "resolved" else _begin(connection, alert, system)
                except IntegrityError:
                    continue  # another process opened it first; the next attempt finds it
        raise StoreError("cannot note an alert: several servers tell of it at once; it will be sent again")

    def claim(self, incidents: Collection[int]) -> tuple[AlertIncident, ...]:
        """Those of the incidents that the caller shall answer now, oldest first: not answered, and no other is at them."""
        now = time.time()
        free = or_(ALERTS.c.claimed_at.is_(None), ALERTS.c.claimed_at < now - CLAIM_S)
        waiting = select(ALERTS.c.id).where(ALERTS.c.id.in_(incidents), ALERTS.c.answer_id.is_(None), free)
        with as_store_error("take up alerts"), self._engine.begin() as connection:
            mine = tuple(connection.execute(waiting.with_for_update()).scalars())
            connection.execute(update(ALERTS).where(ALERTS.c.id.in_(mine)).values(claimed_at=now, failure=None))
            rows = connection.execute(select(*_COLUMNS).where(ALERTS.c.id.in_(mine)).order_by(ALERTS.c.opened_at))
            return tuple(AlertIncident(*row) for row in rows)

    def answered(self, incidents: Collection[int], answer_id: str) -> None:
        """Note their common answer."""
        self._note(incidents, answer_id=answer_id)

    def failed(self, incidents: Collection[int], why: str) -> None:
        """Note why there is no answer; the next repeat of an alert tries again."""
        self._note(incidents, failure=why, claimed_at=None)

    def announce(self, incidents: Collection[int], channel: str) -> bool:
        """True for the one who may post their answer to a channel."""
        with as_store_error("note a post"), self._engine.begin() as connection:
            mine = update(ALERTS).where(ALERTS.c.id.in_(incidents), ALERTS.c.channel.is_(None)).values(channel=channel)
            return bool(connection.execute(mine).rowcount)

    def announced(self, incidents: Collection[int], thread: str) -> None:
        """Note where the answer stands."""
        self._note(incidents, thread=thread)

    def open_with(self, incident: AlertIncident) -> bool:
        """Whether another incident with the same answer is not resolved yet."""
        others = (ALERTS.c.answer_id == incident.answer_id, ALERTS.c.resolved_at.is_(None))
        with as_store_error("read the alerts"), self._engine.connect() as connection:
            return connection.execute(select(ALERTS.c.id).where(*others).limit(1)).first() is not None

    def get(self, incident: int) -> AlertIncident:
        """One incident; ``NotFoundError`` when there is none of that id."""
        with as_store_error("read the alerts"), self._engine.connect() as connection:
            found = _get(connection, incident)
        if found is None:
            raise NotFoundError(f"no alert {incident} was taken here; GET /api/v1/webhooks/incidents lists those there are")
        return found

    def latest(self, limit: int = 50, past: int | None = None) -> tuple[AlertIncident, ...]:
        """The latest incidents, newest first; with ``past`` (an id) those before that one."""
        wanted = select(*_COLUMNS).order_by(ALERTS.c.id.desc()).limit(limit)
        if past is not None:
            wanted = wanted.where(ALERTS.c.id < past)
        with as_store_error("read the alerts"), self._engine.connect() as connection:
            rows = connection.execute(wanted).all()
        return tuple(AlertIncident(*row) for row in rows)

    def waiting(self) -> tuple[AlertIncident, ...]:
        """Open incidents without an answer, oldest first."""
        lacking = (ALERTS.c.answer_id.is_(None), ALERTS.c.failure.is_(None), ALERTS.c.open_key.is_not(None))
        with as_store_error("read the alerts"), self._engine.connect() as connection:
            rows = connection.execute(select(*_COLUMNS).where(*lacking).order_by(ALERTS.c.id))
            return tuple(AlertIncident(*row) for row in rows)

    def _note(self, incidents: Collection[int], **values: Any) -> None:
        with as_store_error("note an alert"), self._engine.begin() as connection:
            connection.execute(update(ALERTS).where(ALERTS.c.id.in_(incidents)).values(**values))


def _begin(connection: Connection, alert: Alert, system: str) -> tuple[AlertIncident | None, Outcome]:
    same_run = (ALERTS.c.key == alert.digest) & (ALERTS.c.started == alert.started[:64])
    known = connection.execute(select(ALERTS.c.id).where(or_(ALERTS.c.open_key == alert.digest, same_run))).scalar()
    if known is not None:
        connection.execute(update(ALERTS).where(ALERTS.c.id == known).values(repeats=ALERTS.c.repeats + 1))
        return _get(connection, known), "repeated"
    row = {
        "source": alert.source,
        "key": alert.digest,
        "open_key": alert.digest,
        "started": alert.started[:64],
        "title": alert.title,
        "report": alert.report,
        "system": system,
        "link": alert.link,
        "opened_at": time.time(),
        "repeats": 0,
    }
    (made,) = connection.execute(insert(ALERTS), row).inserted_primary_key or (0,)
    return _get(connection, made), "opened"


def _end(connection: Connection, alert: Alert) -> tuple[AlertIncident | None, Outcome]:
    known = connection.execute(select(ALERTS.c.id, ALERTS.c.started).where(ALERTS.c.open_key == alert.digest)).one_or_none()
    if known is None or _earlier(alert.started, known.started):
        return None, "ignored"  # or the end of a run before this one, delivered again
    connection.execute(update(ALERTS).where(ALERTS.c.id == known.id).values(open_key=None, resolved_at=time.time()))
    return _get(connection, known.id), "resolved"


def _earlier(one: str, other: str) -> bool:
    """Whether a time in ISO 8601 is before another; False where they cannot be compared."""
    try:
        return datetime.fromisoformat(one) < datetime.fromisoformat(other)
    except (TypeError, ValueError):
        return False


def _get(connection: Connection, incident: int) -> AlertIncident | None:
    row = connection.execute(select(*_COLUMNS).where(ALERTS.c.id == incident)).one_or_none()
    return AlertIncident(*row) if row else None
