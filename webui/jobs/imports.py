"""Reads imported questions again from where they came from, on a schedule."""

from __future__ import annotations

import logging
import threading
import time

from revelio.catalog.imports.files import listed
from revelio.errors import RevelioError
from revelio.service.import_sources import refresh
from revelio.settings import Settings

log = logging.getLogger(__name__)

_FIRST_S = 30.0
"""How long the server is left alone after its start."""


class ImportJob:
    """A thread that refreshes imports when they are due, until it is stopped; none where that is not wanted."""

    def __init__(self, settings: Settings, *, first_s: float = _FIRST_S) -> None:
        """``first_s`` seconds after the start at the earliest."""
        self._settings, self._first_s, self._over = settings, first_s, threading.Event()
        wanted = settings.imports.every_hours > 0
        self._thread = threading.Thread(target=self._run, name="imports", daemon=True) if wanted else None
        if self._thread is not None:
            self._thread.start()

    def stop(self) -> None:
        """No more after this."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        every = self._settings.imports.every_hours * 3600.0
        known = [i.at for i in listed(self._settings.imports.folder)]
        declared = self._settings.imports.sources.keys() - {i.name for i in listed(self._settings.imports.folder)}
        due = 0.0 if declared or not known else min(known) + every - time.time()
        wait = max(self._first_s, due)
        while not self._over.wait(wait):
            try:
                for file in refresh(self._settings):
                    log.info("imported %d questions as %s, %d problems", file.questions, file.name, len(file.problems))
                    for problem in file.problems[:3]:
                        log.warning("import %s: %s", file.name, problem)
            except (RevelioError, OSError) as error:
                log.warning("imports were not refreshed: %s", error)
            wait = every
