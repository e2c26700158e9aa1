"""What an integration needs of Revelio: ask, find again, run, say. The web server and the command line give it."""

from __future__ import annotations

from typing import Protocol

from revelio.store import SavedAnswer, Verdict
from revelio.types import Result


class Door(Protocol):
    """Answers are kept, as those of the page and the API are. Every method raises ``RevelioError`` fit to show to people."""

    def systems(self) -> tuple[str, ...]:
        """Names of the live systems."""
        ...

    def incidents(self) -> tuple[str, ...]:
        """Ids of the recorded incidents."""
        ...

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
        """Rank, and keep the answer. Name a system or a recorded incident; ``opened_at`` in Unix seconds, now when left out."""
        ...

    def answer(self, answer_id: str) -> SavedAnswer:
        """A kept answer, with the results and verdicts that came since."""
        ...

    def run(self, answer_id: str, query_id: str) -> Result:
        """Run one query of a kept answer, and keep the result."""
        ...

    def say(self, answer_id: str, query_id: str | None, verdict: Verdict, note: str = "", by: str = "") -> None:
        """Keep what somebody (``by``) said; on disk when this returns."""
        ...


def choose_system(door: Door, *wishes: str) -> str:
    """The first wish that is not empty, else the only live system there is; "" when neither helps."""
    named = next((w for w in wishes if w), "")
    systems = door.systems()
    return named or (systems[0] if len(systems) == 1 else "")
