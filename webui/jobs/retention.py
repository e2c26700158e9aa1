"""Deletes, once a day, data older than the settings allow."""

from __future__ import annotations

import logging
import threading

from revelio.errors import StoreError
from revelio.store import Store
from revelio.store.retention import prune

log = logging.getLogger(__name__)

_EVERY_S = 24 * 3600.0


class RetentionJob:
    """A thread that prunes at the start and daily until stopped; no thread when ``keep_days`` is 0."""

    def __init__(self, store: Store, keep_days: float) -> None:
        """``keep_days`` of 0 keeps everything."""
        self._store, self._days, self._over = store, keep_days, threading.Event()
        self._thread = threading.Thread(target=self._run, name="forgetting", daemon=True) if keep_days else None
        if self._thread is not None:
            self._thread.start()

    def stop(self) -> None:
        """No more after this."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        while True:
            try:
                gone = prune(self._store.database, self._days)
                log.info("deleted %d answers older than %g days", gone.answers, self._days)
            except StoreError as error:
                log.warning("nothing was deleted: %s", error)
            if self._over.wait(_EVERY_S):
                return
