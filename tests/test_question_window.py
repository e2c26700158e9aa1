"""The window of a question that names no time: it begins where the problem that lasts began."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest

from revelio.question_window import look
from revelio.recommend_request import RecommendRequest
from revelio.systems import System
from revelio.time_range import TimeRange
from revelio.tools.base import Scope
from revelio.types import Entity, Evidence, Series, Window

NOW, WINDOW_S, BASELINE_S, STEP = 1_700_000_000.0, 600.0, 3600.0, 30.0


@dataclass
class Watched:
    """A system whose cart fails in some stretches of time, as seconds before now."""

    failing: tuple[tuple[float, float], ...]
    asked: list[Window] = field(default_factory=list)

    def scope_at(self, asked: TimeRange, now: float) -> Scope:
        """The usual window, or the one that is asked for."""
        start, end = asked.bounds(now, WINDOW_S)
        return Scope("shop", Window(start, end), Window(start - BASELINE_S, start))

    def snapshot(self, scope: Scope) -> Evidence:
        """Its errors, every half a minute."""
        self.asked.append(scope.window)
        times = tuple(scope.baseline.start + i * STEP for i in range(int((scope.window.end - scope.baseline.start) / STEP)))
        values = tuple(5.0 if any(NOW - since <= t < NOW - until for since, until in self.failing) else 0.01 for t in times)
        errors = Series(Entity("service", "cart"), "error_rate", "req/s", times, values)
        return Evidence(scope.window, scope.baseline, series=(errors,), sources=("prometheus",))

    def user_facing(self, span: Window) -> tuple[Series, ...]:
        """Nothing from further back."""
        return ()


@pytest.mark.parametrize(
    ("failing", "length"),
    [
        (((150.0, 0.0),), 210.0),
        (((1500.0, 1200.0), (150.0, 0.0)), 210.0),
        (((550.0, 0.0),), WINDOW_S),
        (((400.0, 250.0),), WINDOW_S),
        ((), WINDOW_S),
    ],
    ids=["began lately", "an earlier fault is over", "fills the usual window", "all over", "healthy"],
)
def test_the_window_begins_where_what_lasts_began(failing: tuple[tuple[float, float], ...], length: float) -> None:
    system = Watched(failing)
    seen = look(cast(System, system), RecommendRequest("the cart shows errors"), NOW)
    assert seen.evidence.window.seconds == pytest.approx(length, abs=3 * STEP)
    assert len(system.asked) <= 2
