"""What one visit to one feature looked like from outside, kept as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

SLOW_SECONDS = 1.5
"""From here on a person calls a page slow."""
PATIENCE_SECONDS = 10.0
OUTCOMES = ("ok", "slow", "timeout", "error", "wrong_data", "missing_data", "lost_state")


@dataclass(frozen=True, slots=True)
class Visit:
    """``at`` is when the visit began (Unix seconds), ``status`` the HTTP status if there was an answer."""

    at: float
    feature: str
    outcome: str
    seconds: float
    status: int | None = None
    detail: str = ""

    @property
    def ended(self) -> float:
        """When the visitor knew."""
        return self.at + self.seconds


def outcome_of(seconds: float, status: int | None) -> str:
    """What a person would call an answer whose content is right; no status means no answer."""
    if status is None or status == 504:
        return "timeout"
    if status >= 400:
        return "error"
    return "slow" if seconds >= SLOW_SECONDS else "ok"


def append(path: Path, visit: Visit) -> None:
    """Add one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(visit)) + "\n")


def read(path: Path, start: float = 0.0, end: float = float("inf")) -> tuple[Visit, ...]:
    """Visits that ended in ``[start, end]``; a line that is being written is left out."""
    return tuple(v for v in _lines(path) if start <= v.ended <= end)


def _lines(path: Path) -> Iterator[Visit]:
    if not path.is_file():
        return
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield Visit(**json.loads(line))
