"""Whether the application's users are content: judged by nothing but what probe users noted."""

from __future__ import annotations

import time
from typing import Protocol

from fault_injection.spec import Effect
from revelio.systems.incidents.exchange import Note

OK = "ok"
LEAST_VISITS = 6
POLL_S = 0.5


class ProbeUsers(Protocol):
    """Users who walk every feature and note what they see."""

    def notes(self, start: float, end: float) -> tuple[Note, ...]:
        """Notes of the visits that ended in that span (Unix seconds)."""


def contentment(notes: tuple[Note, ...]) -> Effect:
    """Content when there were enough visits and they went well: one in forty may be slow, as anywhere."""
    bad = [n for n in notes if n.outcome != OK]
    tolerated = len(notes) // 40
    if len(notes) < LEAST_VISITS:
        return Effect(False, f"only {len(notes)} visits noted; are the probe users running?")
    if len(bad) > tolerated or any(n.outcome != "slow" for n in bad):
        last = bad[-1]
        return Effect(
            False, f"{len(bad)} of {len(notes)} visits went wrong, the last at {last.feature}: {last.outcome} {last.detail}"
        )
    return Effect(True, f"{len(notes)} visits, {len(notes) - len(bad)} of them well")


def wait_until_content(users: ProbeUsers, seconds: float, since: float, longest: float) -> Effect:
    """Wait until all visits of the last ``seconds`` went well, none of them begun before ``since``; at most ``longest``."""
    deadline = time.time() + longest
    while True:
        now = time.time()
        effect = contentment(users.notes(now - seconds, now)) if now - seconds >= since else Effect(False, "settling")
        if effect.confirmed or now > deadline:
            return effect
        time.sleep(POLL_S)
