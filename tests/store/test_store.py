"""What is kept comes back as it was."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, event, text

from revelio.errors import NotFoundError, StoreError
from revelio.store import Actor, Store
from revelio.store.engine import config, open_engine
from revelio.store.export import record_of
from revelio.store.retention import prune
from revelio.store.store import _ANSWER
from revelio.store.tables import ALERTS, DELIVERIES, Base
from revelio.types import Result
from tests.store.made import ANSWER, QUERY, RESULT, SERIES, answer_about


def test_an_answer_comes_back_whole_after_a_restart(store: Store, url: str) -> None:
    saved = store.save(ANSWER, recorded="i-1").id
    store.close()
    again = Store(url)
    loaded = again.load(saved)
    again.close()
    assert loaded.recommendation == ANSWER
    assert loaded.recorded == "i-1"
    assert loaded.feedback == ()


def test_the_types_of_cells_survive(store: Store) -> None:
    saved = store.save(replace(ANSWER, queries=(replace(ANSWER.queries[0], result=RESULT),))).id
    result = store.load(saved).recommendation.queries[0].result
    assert result == RESULT
    assert [type(c) for row in RESULT.rows for c in row] == [type(c) for row in result.rows for c in row]


def test_not_a_number_survives(store: Store) -> None:
    series = replace(SERIES, values=(float("nan"), 1.0, 2.0))
    evidence = replace(ANSWER.incident.evidence, series=(series,))
    saved = store.save(replace(ANSWER, incident=replace(ANSWER.incident, evidence=evidence))).id
    assert repr(store.load(saved).recommendation.incident.evidence.series) == repr((series,))


def test_ids_differ_and_are_not_counted_up(store: Store) -> None:
    ids = {store.save(ANSWER).id for _ in range(5)}
    assert len(ids) == 5
    assert all(len(i) == 16 for i in ids)


def test_the_latest_result_of_a_query_is_shown(store: Store) -> None:
    saved = store.save(ANSWER).id
    store.save_result(saved, QUERY.id, replace(RESULT, summary="first"))
    store.save_result(saved, QUERY.id, replace(RESULT, summary="second"))
    result = store.load(saved).recommendation.queries[0].result
    assert result is not None
    assert result.summary == "second"


def test_feedback_comes_back_in_order_and_the_latest_counts(store: Store) -> None:
    saved = store.save(ANSWER).id
    store.add_feedback(saved, QUERY.id, "not_useful")
    store.add_feedback(saved, QUERY.id, "found", "it was the quota")
    loaded = store.load(saved)
    assert [f.verdict for f in loaded.feedback] == ["not_useful", "found"]
    assert loaded.feedback[1].note == "it was the quota"
    assert loaded.said(QUERY.id) == loaded.feedback[1]
    assert loaded.said(None) is None


def test_feedback_on_what_does_not_exist_is_refused(store: Store) -> None:
    with pytest.raises(NotFoundError, match="no answer 'nope'"):
        store.add_feedback("nope", None, "found")
    saved = store.save(ANSWER).id
    with pytest.raises(NotFoundError, match=f"there are: {QUERY.id}"):
        store.add_feedback(saved, "other", "found")


def test_a_query_that_joins_an_answer_is_run_judged_and_forgotten_with_it(store: Store) -> None:
    saved = store.save(ANSWER).id
    given = len(ANSWER.queries)
    late = replace(ANSWER.queries[0], rank=17, query=replace(QUERY, bindings=(("container", "late"),)))
    for _ in range(2):
        store.join(saved, late)
    store.save_result(saved, late.query.id, RESULT)
    store.add_feedback(saved, late.query.id, "found")
    loaded = store.load(saved)
    assert (loaded.joined, loaded.given) == (1, given)
    assert loaded.recommendation.queries[-1] == replace(late, rank=given + 1, result=RESULT)
    assert [label.bindings for label in record_of(loaded).labels] == [late.query.bindings]
    prune(store.database, 0)
    assert store.history() == ()


def test_a_result_needs_its_answer(store: Store) -> None:
    with pytest.raises(StoreError, match="cannot keep the result"):
        store.save_result("nope", QUERY.id, RESULT)


def test_history_is_newest_first_and_pages_on(store: Store) -> None:
    ids = [store.save(ANSWER).id for _ in range(3)]
    store.add_feedback(ids[0], QUERY.id, "found")
    newest = store.history(limit=2)
    assert [e.id for e in newest] == [ids[2], ids[1]]
    older = store.history(limit=2, before=newest[-1].saved_at)
    assert [(e.id, e.verdict) for e in older] == [(ids[0], "found")]
    assert older[0].top_title == "CPU of cart"
    assert older[0].report == "cart is slow 🐌"


def test_an_answer_without_queries_can_be_kept(store: Store) -> None:
    saved = store.save(replace(ANSWER, queries=())).id
    assert store.load(saved).recommendation.queries == ()
    assert store.history()[0].top_title == ""


def test_feedback_is_written_through_to_disk_after_quick_writes_too(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path}/revelio.db")
    levels: list[tuple[str, int]] = []

    def note(connection: Connection) -> None:
        level = connection.exec_driver_sql("PRAGMA synchronous").scalar()
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        levels.append((str(connection.get_execution_options().get("revelio_write")), int(level or 0)))

    event.listen(store.database.engine, "commit", note)
    saved = store.save(ANSWER).id
    store.add_feedback(saved, QUERY.id, "found")
    store.save_result(saved, QUERY.id, RESULT)
    store.add_feedback(saved, QUERY.id, "helpful")
    assert levels == [("quick", 1), ("durable", 2), ("quick", 1), ("durable", 2)]
    store.close()


def test_postgres_waits_for_the_disk_with_feedback_whatever_its_default(postgres_server: str) -> None:
    store = Store(f"{postgres_server}?options=-csynchronous_commit%3Doff")
    levels: list[tuple[str, str]] = []

    def note(connection: Connection) -> None:
        level = str(connection.exec_driver_sql("SHOW synchronous_commit").scalar())
        levels.append((str(connection.get_execution_options().get("revelio_write")), level))

    event.listen(store.database.engine, "commit", note)
    saved = store.save(ANSWER).id
    store.add_feedback(saved, QUERY.id, "found")
    assert levels == [("quick", "off"), ("durable", "on")]
    store.close()


def test_the_migrations_make_what_the_tables_say(url: str) -> None:
    engine = open_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_opening_twice_changes_nothing(store: Store, url: str) -> None:
    saved = store.save(ANSWER).id
    again = Store(url)
    assert again.load(saved).id == saved
    again.close()


def test_two_that_open_a_new_database_together_both_succeed(url: str) -> None:
    failures: list[Exception] = []

    def go() -> None:
        try:
            store = Store(url)
            store.save(ANSWER)
            store.close()
        except StoreError as error:
            failures.append(error)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    store = Store(url)
    assert len(store.history()) == 4
    store.close()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("nonsense", "named in the settings cannot be opened"),
        ("nosuch://u:secret@h/db", "cannot be opened"),
        ("sqlite:////dev/null/x.db", "cannot be opened"),
        ("mysql://u:secret@h/db", "SQLite .* or Postgres"),
        ("postgresql://u:secret@127.0.0.1:9/db", "cannot be opened.*(refused|failed)"),
    ],
)
def test_a_database_that_cannot_be_opened_says_so(bad: str, words: str) -> None:
    with pytest.raises(StoreError, match=words) as error:
        Store(bad)
    assert "secret" not in str(error.value)


def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    path = tmp_path / "revelio.db"
    path.write_bytes(b"not a database at all, but long enough to look at" * 50)
    with pytest.raises(StoreError, match="not a database"):
        Store(f"sqlite:///{path}")


def test_a_damaged_answer_is_reported_not_invented(store: Store) -> None:
    saved = store.save(ANSWER).id
    with store.database.durable.begin() as connection:
        connection.exec_driver_sql("UPDATE recommendations SET answer = '[{}]'")
    with pytest.raises(StoreError, match="cannot be read by this version"):
        store.load(saved)


def test_an_answer_of_an_older_version_is_read_with_its_error_and_its_probability(store: Store) -> None:
    saved = store.save(ANSWER)
    query = ANSWER.queries[0].query.id
    store.save_result(saved.id, query, Result("jaeger", 0.0, ""))
    (stored,) = json.loads(_ANSWER.dump_json((ANSWER,)))
    stored["abstain"] = stored.pop("no_fault_probability")
    failed = [{"summary": "not run: jaeger: is away", "signal": 0.0, "reason": "jaeger: is away", "took_ms": 3.0}]
    with store.database.durable.begin() as connection:
        connection.execute(text("UPDATE recommendations SET answer = :a"), {"a": json.dumps([stored])})
        connection.execute(text("UPDATE runs SET result = :r"), {"r": json.dumps(failed)})
    answer = store.load(saved.id).recommendation
    assert answer.no_fault_probability == ANSWER.no_fault_probability
    assert not answer.queries[0].answered
    assert answer.queries[0].result == replace(Result.failed("jaeger: is away"), took_ms=3.0)


def test_an_answer_saved_before_there_were_accounts_is_still_there(url: str) -> None:
    engine = open_engine(url)
    with engine.begin() as connection:
        command.downgrade(config(connection), "0001")
        connection.execute(
            text("INSERT INTO recommendations VALUES ('a1', 1.0, 's', NULL, 'r', 'm', 0.5, '', 0.0, :answer)"),
            {"answer": _ANSWER.dump_json((ANSWER,)).decode()},
        )
        connection.execute(
            text("INSERT INTO feedback (recommendation_id, verdict, note, given_at) VALUES ('a1', 'found', 'n', 2.0)")
        )
    engine.dispose()
    store = Store(url)
    loaded = store.load("a1")
    assert loaded.recommendation == ANSWER
    assert [(f.verdict, f.by) for f in loaded.feedback] == [("found", "")]
    store.close()


def test_a_database_that_took_alerts_before_their_migration_keeps_them(url: str) -> None:
    engine = open_engine(url)
    with engine.begin() as connection:
        command.downgrade(config(connection), "0002")
        DELIVERIES.create(connection)
        ALERTS.create(connection)
        connection.execute(DELIVERIES.insert(), {"key": "d1", "taken_at": 1.0})
    engine.dispose()
    engine = open_engine(url)
    with engine.connect() as connection:
        assert connection.execute(DELIVERIES.select()).one().key == "d1"
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_pages_of_the_history_leave_none_out_even_when_saved_at_once(store: Store) -> None:
    ids = {store.save(ANSWER).id for _ in range(5)}
    with store.database.durable.begin() as connection:
        connection.exec_driver_sql("UPDATE recommendations SET saved_at = 7.5")
    seen: list[str] = []
    past: tuple[float, str] | None = None
    while page := store.history(2, past=past):
        seen += [entry.id for entry in page]
        past = (page[-1].saved_at, page[-1].id)
    assert sorted(seen) == sorted(ids)


def test_secrets_in_reports_and_notes_are_never_kept(store: Store) -> None:
    saved = store.save(answer_about("login as anna@example.com password=hunter2 fails"))
    assert saved.recommendation.incident.report == "login as [e-mail masked] password=[secret masked] fails"
    store.add_feedback(saved.id, None, "helpful", "it was token=abc123")
    with store.database.engine.connect() as connection:
        for table in ("recommendations", "feedback", "audit"):
            kept = str(connection.exec_driver_sql(f"SELECT * FROM {table}").all())
            assert "hunter2" not in kept
            assert "anna@" not in kept
            assert "abc123" not in kept


def test_feedback_says_who_gave_it_and_is_in_the_audit_trail(store: Store) -> None:
    saved = store.save(ANSWER).id
    store.add_feedback(saved, QUERY.id, "found", by=Actor("robin", "10.0.0.7"))
    assert store.load(saved).feedback[0].by == "robin"
    (line,) = store.audit.list()
    assert (line.actor, line.action, line.target, line.address) == ("robin", "feedback", saved, "10.0.0.7")
    assert QUERY.id in line.detail


WRITER = """
import sys
from revelio.store import Store
store = Store(sys.argv[1])
while True:
    store.add_feedback(sys.argv[2], None, "found", "x" * 100)
    print("kept", flush=True)
"""


def test_acknowledged_feedback_survives_a_kill(store: Store, url: str) -> None:
    saved = store.save(ANSWER).id
    with subprocess.Popen([sys.executable, "-c", WRITER, url, saved], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = sum(1 for _ in zip(range(20), writer.stdout, strict=False))
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged += len(writer.stdout.readlines())
    assert acknowledged >= 20
    assert len(store.load(saved).feedback) >= acknowledged
