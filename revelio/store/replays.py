"""Replies to requests that carried an idempotency key, so that a request that is sent twice is done once."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import delete, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from revelio.store.engine import Database, as_store_error
from revelio.store.tables import ReplayRow

KEPT_S = 24 * 3600
"""How long a reply is replayed."""
GIVEN_UP_S = 120.0
"""After this a request that has not been answered is taken to have died with its server, and may be retried."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered."""

    status: int
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Claim:
    """State of a key: new (``mine``), answered (``reply``), or in progress. ``same`` is False for another request."""

    mine: bool
    same: bool = True
    reply: Reply | None = None


class Replays:
    """Replies by caller and key. Safe to share between threads and processes."""

    def __init__(self, database: Database) -> None:
        """On an open database."""
        self._database = database

    def claim(self, caller: str, key: str, fingerprint: str) -> Claim:
        """Claim a key for a request; the claimant must ``keep`` or ``release`` it."""
        now = time.time()
        for _ in range(2):
            with as_store_error("read the idempotency keys"), Session(self._database.durable) as session:
                row = session.get(ReplayRow, (caller, key))
                if row is not None and now - row.at > (KEPT_S if row.status is not None else GIVEN_UP_S):
                    session.delete(row)
                    session.flush()
                    row = None
                if row is not None:
                    reply = Reply(row.status, row.media_type, row.body) if row.status is not None else None
                    return Claim(False, row.fingerprint == fingerprint, reply)
                session.add(ReplayRow(caller=caller, key=key, fingerprint=fingerprint, at=now, media_type="", body=b""))
                try:
                    session.commit()
                except IntegrityError:
                    continue
                return Claim(True)
        return Claim(False)

    def keep(self, caller: str, key: str, reply: Reply) -> None:
        """The reply to the request that claimed the key."""
        done = update(ReplayRow).where(ReplayRow.caller == caller, ReplayRow.key == key)
        with as_store_error("keep the reply"), self._database.durable.begin() as connection:
            connection.execute(done.values(status=reply.status, media_type=reply.media_type, body=reply.body))

    def release(self, caller: str, key: str) -> None:
        """The request failed: the key may be used again."""
        gone = delete(ReplayRow).where(ReplayRow.caller == caller, ReplayRow.key == key, ReplayRow.status.is_(None))
        with as_store_error("release an idempotency key"), self._database.durable.begin() as connection:
            connection.execute(gone)
