"""Deduplicates deliveries of senders that retry."""

from __future__ import annotations

import hashlib
import time

from sqlalchemy import delete, insert
from sqlalchemy.exc import IntegrityError

from revelio.store.engine import Database, as_store_error
from revelio.store.retention import DELIVERY_KEPT_S
from revelio.store.tables import DELIVERIES


class Deliveries:
    """Safe to share between threads and processes."""

    def __init__(self, database: Database) -> None:
        """In the store's own database."""
        self._engine = database.durable

    def first(self, *key: str) -> bool:
        """True for exactly one caller per delivery, across processes and restarts."""
        now = time.time()
        whole = hashlib.sha256("\0".join(key).encode("utf-8", "replace"))
        digest = f"{key[0]}:{whole.hexdigest()}"
        with as_store_error("note a delivery"):
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(DELIVERIES), {"key": digest, "taken_at": now})
                    connection.execute(delete(DELIVERIES).where(DELIVERIES.c.taken_at < now - DELIVERY_KEPT_S))
            except IntegrityError:
                return False
        return True
