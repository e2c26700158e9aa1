"""Which backends of the live systems answer. Asking may take as long as the settings allow; a page need not wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

from revelio.errors import RevelioError
from revelio.systems.system import System, ToolState

FRESH_S = 10.0
"""An answer younger than this is shown instead of asking again."""


@dataclass(frozen=True, slots=True)
class Health:
    """What a system's backends said at ``at`` (Unix seconds; None before the first answer)."""

    at: float | None
    tools: tuple[ToolState, ...] = ()
    trouble: str = ""

    @property
    def up(self) -> int:
        """How many answer."""
        return sum(t.up for t in self.tools)


class HealthMonitor:
    """Keeps the latest answer of each system. Safe to share between threads."""

    def __init__(self, system: Callable[[str], System]) -> None:
        """Nothing is asked yet."""
        self._system = system
        self._known: dict[str, Health] = {}
        self._asking: set[str] = set()
        self._lock = threading.Lock()

    def look(self, names: Iterable[str], wait_s: float) -> dict[str, Health]:
        """The health of these systems, refreshed when older than ``FRESH_S``; after ``wait_s`` seconds, what is known by then."""
        names = tuple(names)
        with self._lock:
            now = time.time()
            stale = [n for n in names if n not in self._asking and abs(now - (self._at(n) or 0.0)) >= FRESH_S]
            self._asking.update(stale)
        if stale:
            pool = ThreadPoolExecutor(max_workers=len(stale), thread_name_prefix="health")
            asked = [pool.submit(self._ask, name) for name in stale]
            pool.shutdown(wait=False)
            wait(asked, timeout=wait_s)
        return self.known(names)

    def known(self, names: Iterable[str]) -> dict[str, Health]:
        """The health of these systems as it was last seen. Asks nothing."""
        with self._lock:
            return {name: self._known.get(name, Health(None)) for name in names}

    def _at(self, name: str) -> float | None:
        return self._known[name].at if name in self._known else None

    def _ask(self, name: str) -> None:
        try:
            try:
                health = Health(time.time(), self._system(name).ping())
            except RevelioError as error:
                health = Health(time.time(), trouble=str(error))
            with self._lock:
                self._known[name] = health
        finally:
            with self._lock:
                self._asking.discard(name)
