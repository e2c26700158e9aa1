"""Evidence is kept once, as long as an answer was given on it."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
from alembic import command

from revelio.errors import NotFoundError, StoreError
from revelio.store import Store
from revelio.store.engine import config, open_engine
from revelio.store.export import record_of
from revelio.store.retention import prune
from revelio.types import Recommendation
from tests.store.made import ANSWER, SERIES

EVIDENCE = ANSWER.incident.evidence
OTHER = replace(
    ANSWER,
    incident=replace(ANSWER.incident, evidence=replace(EVIDENCE, series=(replace(SERIES, values=(float("-inf"), 0.1, 2.0)),))),
)


def kept(store: Store) -> int:
    with store.database.engine.connect() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM snapshots").scalar_one())


def again(answer: Recommendation) -> Recommendation:
    """The same answer to a report about what was seen before, by evidence that is equal but not the same."""
    return replace(answer, incident=replace(answer.incident, report="and again", evidence=replace(answer.incident.evidence)))


def test_answers_on_the_same_evidence_keep_it_once_and_each_comes_back_whole(store: Store, url: str) -> None:
    ids = {answer: store.save(answer).id for answer in (ANSWER, again(ANSWER), OTHER)}
    elsewhere = Store(url)
    ids[again(OTHER)] = elsewhere.save(again(OTHER)).id
    assert kept(store) == 2
    for answer, saved in ids.items():
        assert store.load(saved).recommendation == elsewhere.load(saved).recommendation == answer
        assert record_of(store.load(saved)).evidence == answer.incident.evidence
    elsewhere.close()


def test_evidence_that_is_read_twice_is_the_same_value(store: Store, url: str) -> None:
    ids = [store.save(answer).id for answer in (ANSWER, again(ANSWER))]
    elsewhere = Store(url)
    for reader in (store, elsewhere):
        one, other = (reader.load(saved).recommendation.incident.evidence for saved in ids)
        assert one is other
    elsewhere.close()


def test_evidence_is_read_as_the_value_that_was_written(store: Store) -> None:
    saved = store.save(OTHER)
    assert store.load(saved.id).recommendation.incident.evidence is OTHER.incident.evidence


def test_evidence_goes_with_the_last_answer_that_was_given_on_it(store: Store) -> None:
    old, new = store.save(ANSWER).id, store.save(again(ANSWER)).id
    store.save(OTHER)
    with store.database.durable.begin() as connection:
        connection.exec_driver_sql(f"UPDATE recommendations SET saved_at = {time.time() - 90_000} WHERE id <> '{new}'")
    assert prune(store.database, 1).answers == 2
    assert kept(store) == 1
    assert store.load(new).recommendation == again(ANSWER)
    with pytest.raises(NotFoundError, match=old):
        store.load(old)
    prune(store.database, 0)
    assert kept(store) == 0
    assert store.load(store.save(ANSWER).id).recommendation == ANSWER


def test_several_that_keep_the_same_new_evidence_at_once_all_succeed(store: Store, url: str) -> None:
    stores = [Store(url) for _ in range(4)]
    ids: list[str] = []
    threads = [threading.Thread(target=lambda s=s: ids.append(s.save(ANSWER).id)) for s in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.load(i).recommendation for i in ids] == [ANSWER] * 4
    assert kept(store) == 1
    for one in stores:
        one.close()


@pytest.mark.parametrize("damage", ["DELETE FROM snapshots", "UPDATE snapshots SET evidence = '[{}]'"])
def test_an_answer_whose_evidence_is_gone_or_damaged_is_reported_not_invented(store: Store, damage: str) -> None:
    saved = store.save(ANSWER).id
    with store.database.durable.begin() as connection:
        connection.exec_driver_sql(damage)
    with pytest.raises(StoreError, match=f"{saved} cannot be read"):
        store.load(saved)


def test_the_way_back_puts_the_evidence_into_the_answers_and_up_again_they_are_read(store: Store, url: str) -> None:
    ids = {answer: store.save(answer).id for answer in (ANSWER, again(ANSWER), OTHER)}
    engine = open_engine(url)
    with engine.begin() as connection:
        command.downgrade(config(connection), "0003")
    engine.dispose()
    later = Store(url)
    for answer, saved in ids.items():
        assert later.load(saved).recommendation == answer
    assert kept(later) == 0
    later.close()
