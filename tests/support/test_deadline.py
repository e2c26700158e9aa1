"""One deadline for all that a question asks, in whatever thread; the nearest one counts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from revelio.service import DEADLINES, Service
from revelio.service.request import RecommendRequest
from revelio.support.deadline import end, until
from revelio.support.telemetry import Workers
from revelio.systems.system import GRACE_S
from revelio.tools.concurrency_limit import ConcurrencyLimit
from revelio.types import Evidence, Query, Result
from tests.webui import made


def test_the_nearest_deadline_counts_in_every_thread_of_the_question() -> None:
    now = time.monotonic()
    assert end(5.0) == pytest.approx(now + 5.0, abs=1.0)
    with until(now + 2.0), until(now + 9.0), Workers(1) as pool:
        assert end(5.0) == pool.submit(end, 5.0).result() == ConcurrencyLimit("x", 1.0).submit(lambda: end(5.0)).result(5.0)
        assert end(5.0) == now + 2.0
        assert end(0.5) < now + 2.0
    assert end(5.0) > now + 4.0


class Slow:
    """A tool whose backend takes its time."""

    name = "prometheus"
    retrospective = True

    def __init__(self, evidence: Evidence) -> None:
        self.evidence = evidence

    def ping(self) -> str:
        return "slow"

    def snapshot(self, scope: object) -> Evidence:
        time.sleep(0.3)
        return self.evidence

    def render(self, query: Query, scope: object) -> str:
        return "x"

    def link(self, query: Query, scope: object) -> None:
        return None

    def run(self, query: Query, scope: object) -> Result:
        time.sleep(1.5)
        return Result("ran", 0.5, "because")


def test_a_question_is_over_after_twice_the_timeout_however_many_queries_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = made.record()
    settings = made.settings(tmp_path, record).model_copy(update={"timeout_s": 1.0})
    service = Service(settings, recommender=made.stand_in(settings))
    system = service.system("shop")
    monkeypatch.setattr(system, "tools", {"prometheus": Slow(record.evidence)})
    monkeypatch.setattr(system, "_concurrency", {"prometheus": ConcurrencyLimit("prometheus", 1.0)})
    began = time.monotonic()
    answer = service.rank(RecommendRequest("the basket hangs", system="shop", k=20, run=20))
    assert time.monotonic() - began < DEADLINES * 1.0 + GRACE_S + 1.0
    assert answer.queries
    assert all(q.result is not None for q in answer.queries)
    service.close()
