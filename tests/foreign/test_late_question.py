"""A late question is as good as an early one: a scripted fault in a real Prometheus, asked about at several times after it."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.settings import Backend, Settings, SystemSettings
from revelio.systems.time_range import TimeRange
from revelio.types import Recommendation
from tests.foreign.backfill import SCRAPE_S, Written, prometheus_with_history
from tests.foreign.programs import Programs

pytestmark = pytest.mark.foreign

HOUR = 3600.0
HISTORY_S = 9 * HOUR
LATER_S = {"5 minutes": 300.0, "30 minutes": 1800.0, "5 hours": 5 * HOUR}
SERVICES = ("front", "cart", "payments", "search")
REPORT = "customers say that paying fails or takes very long"


def counter(rate: float, faulty: float, began: float, start: float, at: float) -> float:
    """A counter that grows by ``rate`` a second, and by ``faulty`` from ``began`` on, unevenly as real ones do."""
    wobble = 0.2 * rate * SCRAPE_S * ((hash((round(at), rate)) % 100) / 100)
    return rate * (min(at, began) - start) + faulty * max(0.0, at - began) + wobble


def history(start: float, began: float) -> Iterator[Written]:
    """Four services by the histogram of their client library; ``payments`` fails and is slow from ``began`` on."""
    for index, service in enumerate(SERVICES):
        yield Written(f'up{{job="{service}",instance="{service}:80"}}', lambda at: 1.0)
        rate, bad = 20.0 - 3.0 * index, service == "payments"
        for status, share, then in (("200", 0.99, 0.6 if bad else 0.99), ("500", 0.01, 0.4 if bad else 0.01)):
            labels = f'job="{service}",instance="{service}:80",method="GET",path="/{service}",status="{status}"'
            fast = (0.95, 0.1) if bad else (0.95, 0.95)
            parts = {"0.1": fast, "0.5": (0.99, 0.2 if bad else 0.99), "2.5": (1.0, 0.9 if bad else 1.0), "+Inf": (1.0, 1.0)}
            for bound, (before, after) in parts.items():
                grow = partial(counter, rate * share * before, rate * then * after, began, start)
                yield Written(f'http_request_duration_seconds_bucket{{{labels},le="{bound}"}}', grow)
            yield Written(
                f"http_request_duration_seconds_count{{{labels}}}", partial(counter, rate * share, rate * then, began, start)
            )
            mean = 2.0 if bad else 0.05
            yield Written(
                f"http_request_duration_seconds_sum{{{labels}}}",
                partial(counter, rate * share * 0.05, rate * then * mean, began, start),
            )


@pytest.fixture(scope="module")
def asked() -> Iterator[tuple[dict[str, Recommendation], Recommendation, float]]:
    """The answers by how late the question was, one about a healthy moment before, and when the fault began."""
    if shutil.which("promtool") is None:
        pytest.skip("apt-get install --no-install-recommends prometheus")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        programs = Programs(Path(name))
        end = time.time() // SCRAPE_S * SCRAPE_S
        start, began = end - HISTORY_S, end - max(LATER_S.values())
        try:
            url = prometheus_with_history(programs, history(start, began), start, end)
            settings = Settings(
                systems={"shop": SystemSettings(backends={"prometheus": Backend(url=url)})},
                database=f"sqlite:///{name}/store.db",
            )
            service = Service(settings)
            answers = {
                late: service.rank(RecommendRequest(REPORT, "shop", k=10, time=TimeRange(at=began + seconds)))
                for late, seconds in LATER_S.items()
            }
            healthy = service.rank(RecommendRequest(REPORT, "shop", k=10, time=TimeRange(at=began - 600)))
            service.close()
            yield answers, healthy, began
        finally:
            programs.close()


Asked = tuple[dict[str, Recommendation], Recommendation, float]


def rank_of_the_cause(answer: Recommendation) -> int:
    return next((q.rank for q in answer.queries if "payments" in dict(q.query.bindings).values()), 99)


@pytest.mark.parametrize("late", LATER_S)
def test_the_onset_is_found_however_late(asked: Asked, late: str) -> None:
    answers, _, began = asked
    onset = answers[late].time.onset
    print(f"\n{late} late: {onset}, window {answers[late].incident.evidence.window.seconds / 60:.0f} min")
    assert onset is not None
    assert onset.component == "payments"
    assert onset.until is None
    assert abs(onset.at - began) <= 6 * SCRAPE_S


@pytest.mark.parametrize("late", LATER_S)
def test_a_late_answer_is_as_good_as_an_early_one(asked: Asked, late: str) -> None:
    answers, _, _ = asked
    answer = answers[late]
    first = [f"{q.probability:.2f} {q.query.title}" for q in answer.queries[:3]]
    print(f"\n{late} late: no fault {answer.no_fault_probability:.2f}; {first}")
    assert rank_of_the_cause(answer) == 1
    assert not answer.no_fault_likely


def test_a_healthy_moment_has_no_onset(asked: Asked) -> None:
    _, healthy, _ = asked
    assert healthy.time.onset is None
    assert healthy.time.basis == "asked"
