"""Users of a foreign application: a visit or two a second, and what they saw."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import httpx

from revelio.systems.incidents.exchange import Note

TIMEOUT_S = 8.0
Page = Callable[[httpx.Client], httpx.Response]


@dataclass(frozen=True, slots=True)
class Seen:
    """What users saw over some time, in the words of a symptom: slow, timeout, error, flaky or fine."""

    symptom: str
    feature: str
    seconds: float
    status: int | None
    told: str


class Users(threading.Thread):
    """Visits pages in turn, ``pause_s`` apart, until ``close``."""

    def __init__(self, pages: Mapping[str, tuple[Page, float]], base_url: str, pause_s: float) -> None:
        """``pages`` are features with the share of visits that each gets."""
        super().__init__(daemon=True)
        self._pages = pages
        self._pause_s = pause_s
        self._client = httpx.Client(base_url=base_url, timeout=TIMEOUT_S, follow_redirects=True, verify=False)
        self._over = threading.Event()
        self.notes: list[Note] = []

    def run(self) -> None:
        """Visit."""
        dice = random.Random(7)
        names, weights = list(self._pages), [weight for _, weight in self._pages.values()]
        while not self._over.is_set():
            self.visit(dice.choices(names, weights)[0])
            self._over.wait(self._pause_s)

    def visit(self, feature: str) -> Note:
        """One visit of a feature, noted."""
        began = time.time()
        status, outcome = None, "timeout"
        try:
            status = self._pages[feature][0](self._client).status_code
            outcome = "ok" if status < 500 else "error"
        except httpx.TimeoutException:
            pass
        except httpx.HTTPError:
            outcome = "error"
        self.notes.append(Note(round(began, 1), feature, outcome, round(time.time() - began, 3), status))
        return self.notes[-1]

    def close(self) -> None:
        """Come no more."""
        self._over.set()
        self.join(2 * TIMEOUT_S)

    def seen(self, start: float, end: float) -> Seen:
        """What they saw in a span of time, compared with all that was before it."""
        now = [n for n in self.notes if start <= n.at < end]
        before = [n for n in self.notes if n.at < start]
        usual = {f: median(n.seconds for n in before if n.feature == f) for f in {n.feature for n in before}}
        return _worst([_feature(f, [n for n in now if n.feature == f], usual.get(f)) for f in sorted({n.feature for n in now})])


_ORDER = ("timeout", "error", "flaky", "slow", "fine")


def _feature(name: str, now: Sequence[Note], before: float | None) -> Seen:
    failed, late = (sum(n.outcome == how for n in now) / len(now) for how in ("error", "timeout"))
    typical = median(n.seconds for n in now)
    usual = typical if before is None else before
    status = next((n.status for n in reversed(now) if n.outcome == "error"), None)
    symptom = "fine"
    if late >= 0.3:
        symptom = "timeout"
    elif failed >= 0.6:
        symptom = "error"
    elif failed + late >= 0.08:
        symptom = "flaky"
    elif typical > 2.0 * usual and typical > usual + 0.2:
        symptom = "slow"
    told = f"{name}: {failed + late:.0%} of {len(now)} visits failed, median {typical:.2f} s (before {usual:.2f} s)"
    return Seen(symptom, name, typical, status, told)


def _worst(seen: Sequence[Seen]) -> Seen:
    return min(seen, key=lambda s: (_ORDER.index(s.symptom), -s.seconds), default=Seen("fine", "", 0.0, None, "no visits"))
