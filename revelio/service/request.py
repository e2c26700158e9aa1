"""What a person or program asks: a report about either a live system or a recorded incident."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import tzinfo
from time import time

from revelio.errors import InvalidInputError
from revelio.systems.time_range import TimeRange

MAX_K = 50


@dataclass(frozen=True, slots=True)
class RecommendRequest:
    """One question. ``run`` is how many of its first queries to run too; ``time`` is what the question says of its window.

    ``zone`` is the time zone of who wrote the report, None where it is not known.
    """

    report: str
    system: str | None = None
    incident: str | None = None
    k: int = 5
    run: int = 0
    time: TimeRange = field(default_factory=TimeRange)
    zone: tzinfo | None = None

    def validated(self, max_chars: int) -> RecommendRequest:
        """The same request with the report's surrounding space removed; ``InvalidInputError`` says what to change."""
        report = self.report.strip()
        if not report:
            raise InvalidInputError("the report is empty; describe in a sentence what is broken")
        if len(report) > max_chars:
            raise InvalidInputError(f"the report has {len(report):,} of at most {max_chars:,} characters; shorten it")
        if "\x00" in report:
            raise InvalidInputError("the report contains NUL bytes; paste it as plain text")
        if not 1 <= self.k <= MAX_K:
            raise InvalidInputError(f"k is {self.k}; it must be 1 to {MAX_K}")
        if self.system is None and self.incident is None:
            raise InvalidInputError("name a live system or a recorded incident")
        if self.system is not None and self.incident is not None:
            raise InvalidInputError("name either a live system or a recorded incident, not both")
        if self.incident is not None and self.time.named:
            raise InvalidInputError("a recorded incident has its own time; leave since and window out, or name a live system")
        self.time.validated(time())
        return replace(self, report=report)
