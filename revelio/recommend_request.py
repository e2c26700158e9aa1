"""What a person or program asks: a report about either a live system or a recorded incident."""

from __future__ import annotations

from dataclasses import dataclass, replace

from revelio.errors import InvalidInputError

MAX_K = 50


@dataclass(frozen=True, slots=True)
class RecommendRequest:
    """One question. ``opened_at`` is in Unix seconds, now when None; ``run`` also runs the ``k`` queries."""

    report: str
    system: str | None = None
    incident: str | None = None
    k: int = 5
    run: bool = False
    opened_at: float | None = None

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
        if (self.system is None) == (self.incident is None):
            raise InvalidInputError("name either a live system or a recorded incident, not both")
        return replace(self, report=report)
