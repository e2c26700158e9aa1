"""The desk as integrations see it, so that their answers are kept, counted and masked like those of the page."""

from __future__ import annotations

from revelio.store import SavedAnswer, Verdict
from revelio.types import Result
from webui.desk import Desk, Question


class DeskDoor:
    """A ``revelio.integrations.door.Door`` on a desk."""

    def __init__(self, desk: Desk) -> None:
        """Shares the desk's model, connections and database."""
        self._desk = desk

    def systems(self) -> tuple[str, ...]:
        """Names of the live systems."""
        return self._desk.bench.systems

    def incidents(self) -> tuple[str, ...]:
        """Ids of the recorded incidents."""
        return tuple(r.id for r in self._desk.recorded())

    def ask(
        self,
        report: str,
        *,
        system: str | None = None,
        incident: str | None = None,
        k: int = 3,
        run: bool = False,
        opened_at: float | None = None,
    ) -> SavedAnswer:
        """Rank, and keep the answer."""
        return self._desk.ask(Question(report, system, incident, k, run, opened_at))

    def answer(self, answer_id: str) -> SavedAnswer:
        """A kept answer."""
        return self._desk.answer(answer_id)

    def run(self, answer_id: str, query_id: str) -> Result:
        """Run one of its queries, and keep the result."""
        return self._desk.run(answer_id, query_id)

    def say(self, answer_id: str, query_id: str | None, verdict: Verdict, note: str = "", by: str = "") -> None:
        """Keep what somebody said."""
        said = ": ".join(part for part in (by, note) if part)
        self._desk.feedback(answer_id, query_id, verdict, said)
