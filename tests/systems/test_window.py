"""The window of a question that names no time: it begins where the problem that lasts began."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest

from revelio.systems.system import System
from revelio.systems.time_range import TimeRange
from revelio.systems.window import NamedTime, choose_window, collect_evidence
from revelio.tools.base import Scope
from revelio.types import Entity, Evidence, Series, Window

NOW, WINDOW_S, BASELINE_S, STEP = 1_700_000_000.0, 600.0, 3600.0, 30.0


@dataclass
class Watched:
    """A system whose cart fails in some stretches of time, as seconds before now."""

    failing: tuple[tuple[float, float], ...]
    asked: list[Window] = field(default_factory=list)

    def snapshot_at(self, asked: TimeRange, now: float) -> Evidence:
        """Its errors, every half a minute, in the usual window or the one that is asked for."""
        start, end = asked.bounds(now, WINDOW_S)
        scope = Scope("shop", Window(start, end), Window(start - BASELINE_S, start))
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
    live = cast(System, system)
    asked = NamedTime.of("the cart shows errors", TimeRange(), None, NOW)
    seen = collect_evidence(choose_window(asked, live), live)
    assert seen.evidence.window.seconds == pytest.approx(length, abs=3 * STEP)
    assert len(system.asked) <= 2
