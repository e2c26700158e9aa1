"""Counts processes that the kernel killed for memory, by container, from the engine's events.

The kernel counts them in the container's control group, which ends with the container's first process: a reader of the counter
there finds it gone, or restarted at zero, just when that process was the one that was killed.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from .engine import NUMBER, PROJECT, ROLE, SERVICE, Engine, EngineError

log = logging.getLogger("kills")


class Kills:
    """Kills since it began to look, by container."""

    def __init__(self, engine: Engine, project: str) -> None:
        """Looks at nothing yet."""
        self._engine = engine
        self._wanted = {"type": ["container"], "event": ["oom"], "label": [f"{PROJECT}={project}", f"{ROLE}=app"]}
        self._counts: Counter[str] = Counter()
        self._last = time.time_ns()

    def start(self) -> None:
        """Look from now on, in its own thread."""
        threading.Thread(target=self._watch, name="kills", daemon=True).start()

    def counts(self) -> dict[str, int]:
        """Kills by container; one that had none is left out."""
        return dict(self._counts)

    def follow(self) -> None:
        """Count events as they happen. Raises EngineError when the engine goes."""
        for told in self._engine.follow(self._last / 1e9, self._wanted):
            # Asked again, the engine begins with what it told last.
            if told["timeNano"] > self._last:
                self._last = told["timeNano"]
                self._counts[name_of(told["Actor"]["Attributes"])] += 1

    def _watch(self) -> None:
        while True:
            try:
                self.follow()
            except EngineError as error:
                log.warning("the engine is gone: %s", error)
            time.sleep(1.0)


def name_of(attributes: Mapping[str, Any]) -> str:
    """A container's name from an event's attributes, its labels among them."""
    number = attributes.get(NUMBER, "1")
    return str(attributes[SERVICE]) if number == "1" else f"{attributes[SERVICE]}-{number}"
