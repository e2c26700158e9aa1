"""Similar past incidents follow what people find, take back and forget."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.store import SavedAnswer
from tests.webui import made


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    other = replace(made.record("forum-0001", "the forum hangs"), system="forum")
    settings = made.settings(tmp_path, made.record(), made.record("shop-0002"), other)
    service = Service(settings, recommender=made.stand_in(settings))
    yield service
    service.close()


def asked(service: Service, incident: str = "shop-0001") -> SavedAnswer:
    return service.recommend(RecommendRequest(made.REPORT, incident=incident))


def first_query(answer: SavedAnswer) -> str:
    return answer.recommendation.queries[0].query.id


def test_a_found_cause_is_found_again_with_the_query_that_showed_it(service: Service) -> None:
    past = asked(service)
    service.feedback(past.id, first_query(past), "found", "a CPU quota")
    (found,) = service.similar(asked(service, "shop-0002"))
    assert (found.id, found.cause, found.query) == (past.id, "a CPU quota", past.recommendation.queries[0].query.title)
    assert found.similarity > 0.9


def test_a_cause_without_a_query_is_told_and_a_verdict_without_a_cause_too(service: Service) -> None:
    noted, judged = asked(service), asked(service)
    service.resolve(noted.id, "somebody cut the quota", None)
    service.feedback(judged.id, first_query(judged), "found")
    told = {found.id: (found.cause, bool(found.query)) for found in service.similar(asked(service))}
    assert told == {noted.id: ("somebody cut the quota", False), judged.id: ("", True)}


def test_an_answer_is_not_similar_to_itself_and_what_is_open_is_no_help(service: Service) -> None:
    past, still_open = asked(service), asked(service)
    service.resolve(past.id, "the quota", None)
    assert service.similar(past) == ()
    assert [found.id for found in service.similar(still_open)] == [past.id]


def test_what_is_taken_back_is_found_no_more(service: Service) -> None:
    past, now = asked(service), asked(service)
    service.feedback(past.id, first_query(past), "found", "the quota")
    assert service.similar(now)
    service.withdraw_feedback(past.id, first_query(past))
    assert service.similar(now) == ()


def test_systems_can_be_told_apart(service: Service) -> None:
    here, there = asked(service), asked(service, "forum-0001")
    for past in (here, there):
        service.resolve(past.id, "the quota", None)
    now = asked(service)
    assert [found.id for found in service.similar(now, scope="system")] == [here.id]
    assert [found.id for found in service.similar(now, scope="others")] == [there.id]
    assert {found.id for found in service.similar(now)} == {here.id, there.id}


@pytest.mark.parametrize("damage", ["deleted", "damaged"])
def test_a_lost_index_is_built_again_from_the_store(service: Service, tmp_path: Path, damage: str) -> None:
    past, now = asked(service), asked(service)
    service.resolve(past.id, "the quota", None)
    before = service.similar(now)
    service.similar_incidents.close()
    (file,) = (tmp_path / "retrieval").iterdir()
    file.unlink() if damage == "deleted" else file.write_bytes(file.read_bytes()[:-1])
    assert service.similar(now) == before


def test_a_rebuild_tells_its_progress_and_keeps_what_is_known(service: Service) -> None:
    past, now = asked(service), asked(service)
    service.resolve(past.id, "the quota", None)
    seen: list[tuple[int, int]] = []
    assert service.similar_incidents.rebuild(lambda what, done, total: seen.append((done, total))) == 1
    assert seen[-1] == (1, 1)
    assert [found.id for found in service.similar(now)] == [past.id]


def test_an_engine_that_does_not_answer_costs_the_similar_incidents_alone(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    past = asked(service)
    service.resolve(past.id, "the quota", None)
    retrieval = service.settings.retrieval.model_copy(update={"engine": "elasticsearch", "url": "http://127.0.0.1:9"})
    settings = service.settings.model_copy(update={"retrieval": retrieval})
    service = Service(settings, recommender=made.stand_in(settings), store=service.store)
    with caplog.at_level(logging.WARNING):
        assert service.similar(asked(service)) == ()
    assert "127.0.0.1:9" in caplog.text
