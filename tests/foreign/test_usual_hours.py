"""A job that runs at this hour of every day is told apart from a fault that is as large, on a real Prometheus."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from revelio.catalog import bundled_catalog
from revelio.settings import Backend, SystemSettings
from revelio.support.anomaly import deviation, split
from revelio.systems.system import System, open_system
from revelio.systems.time_range import TimeRange
from revelio.tools.prometheus.earlier import AGO_S, DAY_S
from revelio.types import Evidence
from tests.foreign.backfill import SCRAPE_S, Written, prometheus_with_history
from tests.foreign.programs import Programs

pytestmark = pytest.mark.foreign

BUSY_S, KEPT_S = 300.0, 5400.0


def kept(end: float, at: float) -> bool:
    """Whether a moment is one of those that matter here: the last hour and a half of today, and of two earlier days."""
    return any(end - ago - KEPT_S <= at <= end - ago for ago in (0.0, *AGO_S))


def heap(end: float, busy: Callable[[float], bool]) -> Callable[[float], float]:
    """Resident memory in bytes; ``busy`` says of a time before the end of a day whether it is high."""
    return lambda at: (900e6 if busy(end - at) else 100e6) + 1e6 * (round(at / SCRAPE_S) % 5)


@pytest.fixture(scope="module")
def evidence() -> Iterator[Evidence]:
    """What a shop shows whose report job runs every day since five minutes ago, and whose cart leaks since then."""
    if shutil.which("promtool") is None:
        pytest.skip("apt-get install --no-install-recommends prometheus")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        programs = Programs(Path(name))
        end = time.time() // SCRAPE_S * SCRAPE_S
        daily = {"report": lambda ago: ago % DAY_S <= BUSY_S, "cart": lambda ago: ago <= BUSY_S}
        series = [Written(f'up{{job="{job}",instance="{job}:80"}}', heap(end, lambda _: False)) for job in daily]
        series += [
            Written(f'process_resident_memory_bytes{{job="{job}",instance="{job}:80"}}', heap(end, busy))
            for job, busy in daily.items()
        ]
        system: System | None = None
        try:
            url = prometheus_with_history(programs, series, end - AGO_S[-1] - KEPT_S, end, kept=partial(kept, end))
            backends = {"prometheus": Backend(url=url)}
            system = open_system("shop", SystemSettings(backends=backends), bundled_catalog(), timeout_s=60.0)
            yield system.snapshot(system.scope_at(TimeRange(), end))
        finally:
            if system is not None:
                system.close()
            programs.close()


@pytest.mark.parametrize(("job", "usual"), [("report", True), ("cart", False)])
def test_only_what_was_not_so_at_this_hour_deviates(evidence: Evidence, job: str, usual: bool) -> None:
    [memory] = [s for s in evidence.series if (s.entity.name, s.metric) == (job, "memory")]
    before, now = split(memory.times, memory.values, evidence.baseline, evidence.window)
    assert len(memory.earlier) == len(AGO_S)
    assert deviation(before, now, "up") > 10
    assert (deviation(before, now, "up", earlier=memory.earlier) < 1) == usual
