"""Running queries of a saved answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.store import Store
from tests.webui import made


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    settings = made.settings(tmp_path, made.record())
    service = Service(settings, recommender=made.stand_in(settings))
    yield service
    service.close()


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of stored answers, as they are read."""
    read: list[str] = []
    load = Store.load

    def counted(self: Store, recommendation_id: str) -> object:
        read.append(recommendation_id)
        return load(self, recommendation_id)

    monkeypatch.setattr(Store, "load", counted)
    return read


def test_a_run_reads_the_stored_answer_once(service: Service, loads: list[str]) -> None:
    asked = service.recommend(RecommendRequest(made.REPORT, incident=made.record().id))
    first = asked.recommendation.queries[0].query.id
    ran = service.run(service.answer(asked.id), first)
    assert loads == [asked.id]
    assert repr(ran) == repr(service.answer(asked.id))  # NaN equals nothing
    assert ran.result(first).error is None


def test_the_first_queries_are_those_without_a_result_in_either_order(service: Service) -> None:
    asked = service.recommend(RecommendRequest(made.REPORT, incident=made.record().id, k=3))
    ids = [q.query.id for q in asked.recommendation.queries]
    for reranked in (False, True):
        ran = service.run_first(service.run(asked, ids[0]), 1, reranked=reranked)
        assert sum(q.result is not None for q in ran.recommendation.queries) >= 2
    assert ran.recommendation.queries[0].answered


def test_a_question_that_runs_its_first_queries_is_listed_with_what_they_showed(service: Service) -> None:
    asked = service.recommend(RecommendRequest(made.REPORT, incident=made.record().id, k=3, run=2))
    assert [q.result is not None for q in asked.recommendation.queries] == [True, True, False]
    (entry,) = service.store.history()
    assert entry.outcome == service.rerank(asked.recommendation, asked.given).recommendation.outcome
