"""What the attacks came to: counted while they run, printed as one table, kept for the page in the documentation."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

KEPT = Path("var/hostile.json")
"""Where a run leaves its figures for ``python -m tests.hostile.page``."""
_SAMPLES = 20
_LOCK = threading.Lock()


@dataclass
class Tally:
    """Counts of one run. Safe to share between threads; memory in MB, times in milliseconds."""

    inputs: int = 0
    api_cases: int = 0
    faults: int = 0
    lies: int = 0
    kills: int = 0
    acknowledged: int = 0
    lost: int = 0
    failures: list[str] = field(default_factory=list)
    bad_gateway: int = 0
    tracebacks: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    searched: int = 0
    half_open: int = 0
    answers: int = 0
    figures: dict[str, Any] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def add(self, **counts: int) -> None:
        """Add to counts."""
        with _LOCK:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)

    def found(self, kind: str, what: str) -> None:
        """Note a finding (``failures``, ``tracebacks``, ``strangers``, ``secrets``)."""
        with _LOCK:
            getattr(self, kind).append(what[:300])

    def keep(self, path: Path = KEPT) -> None:
        """Write the figures down."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path = KEPT) -> Tally:
        """The figures of a run that was kept; none yet where there was no run."""
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else cls()

    def __add__(self, other: Tally) -> Tally:
        """Both runs together; of figures that both measured, the other's."""
        mine, theirs = asdict(self), asdict(other)
        return Tally(**{name: mine[name] | theirs[name] if name == "figures" else mine[name] + theirs[name] for name in mine})

    def rows(self) -> list[tuple[str, str]]:
        """The table, row by row."""
        return [
            ("bad inputs tried", f"{self.inputs + self.api_cases:,} ({self.api_cases:,} generated from the API's description)"),
            ("kinds of lying backends", f"{self.lies:,}"),
            ("faults tried", f"{self.faults:,} ({self.kills} times kill -9)"),
            ("half-open connections", f"{self.half_open:,}"),
            ("writes acknowledged", f"{self.acknowledged:,}"),
            ("writes lost", f"{self.lost:,}"),
            ("answers 5xx other than 503, and 502 that names a backend", f"{len(self.failures):,}"),
            ("answers 502 that name the backend that failed", f"{self.bad_gateway:,}"),
            ("tracebacks in logs", f"{len(self.tracebacks):,}"),
            ("connections that no setting names", f"{len(self.strangers):,}"),
            ("secrets found in outputs", f"{len(self.secrets):,} ({self.searched / 1e6:,.1f} MB searched)"),
            *((name, str(value)) for name, value in self.figures.items()),
        ]

    def findings(self) -> list[str]:
        """Samples of what should not have been."""
        kinds = {"5xx": self.failures, "traceback": self.tracebacks, "connection": self.strangers, "secret": self.secrets}
        return [f"{kind}: {what}" for kind, all_of in kinds.items() for what in all_of[:_SAMPLES]]


def markdown(tally: Tally) -> str:
    """The table of a run."""
    lines = ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in tally.rows())]
    return "\n".join([*lines, "", *(f"Not tried here: {why}." for why in tally.skipped)]).rstrip() + "\n"
