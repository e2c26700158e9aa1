"""What is older than it may become is forgotten, and what is exported can be read as incidents."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from revelio.store import Actor, Store
from revelio.store.export import exported
from revelio.store.retention import DELIVERY_KEPT_S, Pruned, prune
from revelio.store.tables import ALERTS, DELIVERIES
from revelio.systems.incidents.exchange import Label, read_records, write_records
from tests.store.made import ANSWER, QUERY, RESULT

DAY = 86_400.0


@pytest.fixture
def aged(store: Store) -> Store:
    """Answers that are 1, 40 and 100 days old; the oldest has feedback and a result."""
    for days in (1, 40, 100):
        saved = store.save(ANSWER).id
        if days == 100:
            store.add_feedback(saved, QUERY.id, "found")
            store.save_result(saved, QUERY.id, RESULT)
        with store.database.durable.begin() as connection:
            then = time.time() - days * DAY
            connection.exec_driver_sql(f"UPDATE recommendations SET saved_at = {then} WHERE id = '{saved}'")
    with store.database.durable.begin() as connection:
        connection.exec_driver_sql(f"UPDATE audit SET at = {time.time() - 100 * DAY}")
    return store


def test_what_is_old_goes_with_all_that_belongs_to_it(aged: Store) -> None:
    assert prune(aged.database, 90, only_count=True) == Pruned(1, 1, 1, 1)
    assert len(aged.history()) == 3
    assert prune(aged.database, 90) == Pruned(1, 1, 1, 1)
    assert len(aged.history()) == 2
    assert aged.audit.list() == ()
    assert prune(aged.database, 90) == Pruned(0, 0, 0, 0)
    assert prune(aged.database, 30).answers == 1


def test_what_there_is_to_learn_from_can_be_kept(aged: Store) -> None:
    assert prune(aged.database, 30, keep_feedback=True).answers == 1
    assert sorted(e.verdict or "" for e in aged.history()) == ["", "found"]


def test_many_old_answers_go_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("revelio.store.retention._AT_ONCE", 3)
    for _ in range(7):
        store.save(ANSWER)
    assert prune(store.database, 0).answers == 7
    assert store.history() == ()


def test_old_alerts_go_whether_resolved_or_not(store: Store) -> None:
    now = time.time()
    told = {"source": "grafana", "started": "", "title": "t", "report": "r", "system": "shop", "link": "", "repeats": 0}
    rows = [(days, {"opened_at": now - days * DAY, "key": str(days)}) for days in (1, 40, 100)]
    with store.database.durable.begin() as connection:
        connection.execute(ALERTS.insert(), [told | row | {"open_key": row["key"] if d < 100 else None} for d, row in rows])
    assert prune(store.database, 90, only_count=True).alerts == 1
    assert prune(store.database, 30).alerts == 2
    with store.database.engine.connect() as connection:
        assert connection.execute(ALERTS.select()).one().key == "1"


def test_deliveries_go_when_nobody_would_try_again(store: Store) -> None:
    with store.database.durable.begin() as connection:
        taken = [{"key": "old", "taken_at": time.time() - DELIVERY_KEPT_S - 60}, {"key": "new", "taken_at": time.time()}]
        connection.execute(DELIVERIES.insert(), taken)
    prune(store.database, 365)
    with store.database.engine.connect() as connection:
        assert connection.execute(DELIVERIES.select()).one().key == "new"


def test_an_export_is_read_back_as_incidents(store: Store, tmp_path: Path) -> None:
    saved = store.save(replace(ANSWER, queries=(replace(ANSWER.queries[0], result=RESULT),))).id
    store.add_feedback(saved, QUERY.id, "found", by=Actor("robin"))
    silent = store.save(ANSWER).id
    path = tmp_path / "answers.jsonl"
    write_records(path, exported(store))
    records = {record.id: record for record in read_records(path)}
    assert set(records) == {saved, silent}
    told = records[saved]
    assert told.reports[0].text == ANSWER.incident.report
    assert told.evidence == ANSWER.incident.evidence
    assert told.results[0].result.summary == "CPU rose"
    assert told.labels == (Label(QUERY.template.id, QUERY.bindings, 3, RESULT.signal, proven=False),)
    assert records[silent].labels == ()
    assert [r.id for r in exported(store, only_feedback=True)] == [saved]
    assert list(exported(store, since=time.time() + 1)) == []
