"""What is kept comes back as it was."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, event

from revelio.errors import NotFoundError, StoreError
from revelio.store import Store
from revelio.store.engine import open_engine
from revelio.store.tables import Base
from revelio.types import (
    Blank,
    Entity,
    Evidence,
    Factor,
    Incident,
    Query,
    QueryTemplate,
    RankedQuery,
    Reading,
    Recommendation,
    Result,
    Series,
    Span,
    Window,
)

CART = Entity("container", "cart")
SERIES = Series(CART, "cpu", "cores", (1.0, 2.0, 3.0), (0.5, float("inf"), 0.25))
TEMPLATE = QueryTemplate(
    "prometheus.cpu",
    "prometheus",
    "CPU of ${container}",
    "",
    "x",
    (Blank("container", "container"),),
    (Reading("series", "cpu"),),
)
QUERY = Query(TEMPLATE, (("container", "cart"),))
RESULT = Result(
    "CPU rose",
    0.75,
    "4 spreads",
    ("a", "b"),
    ((1, 2.0), (True, None)),
    (SERIES,),
    (Span("1", None, "cart", "GET /", 1.0, 2.0, True),),
)
ANSWER = Recommendation(
    Incident("i-1", "shop", "cart is slow 🐌", 30.0, Evidence(Window(10.0, 30.0), Window(0.0, 10.0), (CART,), (SERIES,))),
    (RankedQuery(QUERY, 1, 0.5, (Factor("tool", -0.7, ("why",)),), "text", "http://prometheus/graph"),),
    0.125,
    "first-1",
    ("jaeger",),
    3.5,
)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/deep/er/revelio.db"


@pytest.fixture
def store(url: str) -> Store:
    return Store(url)


def test_an_answer_comes_back_whole_after_a_restart(store: Store, url: str) -> None:
    saved = store.save(ANSWER, recorded="i-1").id
    store.close()
    loaded = Store(url).load(saved)
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


def test_feedback_is_written_through_to_disk_after_quick_writes_too(store: Store) -> None:
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


def test_the_migrations_make_what_the_tables_say(url: str) -> None:
    engine = open_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_opening_twice_changes_nothing(url: str) -> None:
    first = Store(url)
    saved = first.save(ANSWER).id
    assert Store(url).load(saved).id == saved


def test_two_that_open_a_new_database_together_both_succeed(url: str) -> None:
    failures: list[Exception] = []

    def go() -> None:
        try:
            Store(url).save(ANSWER)
        except StoreError as error:
            failures.append(error)

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(Store(url).history()) == 4


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("nonsense", "named in the settings cannot be opened"),
        ("nosuch://u:secret@h/db", "cannot be opened"),
        ("sqlite:////dev/null/x.db", "cannot be opened"),
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


def test_a_damaged_answer_is_reported_not_invented(store: Store, tmp_path: Path) -> None:
    saved = store.save(ANSWER).id
    with sqlite3.connect(tmp_path / "deep" / "er" / "revelio.db") as connection:
        connection.execute("UPDATE recommendations SET answer = '[{}]'")
    connection.close()
    with pytest.raises(StoreError, match="cannot be read by this version"):
        store.load(saved)


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
