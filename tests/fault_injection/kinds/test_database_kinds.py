"""Faults of the database name real tables and indexes, are undone to the letter, and are measured where a person would look."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fault_injection.apps import App, app_named
from fault_injection.kinds import database as kinds_module
from fault_injection.kinds import kind_named, validate
from fault_injection.kinds.database import ConnectionLeak, DroppedIndex, UnpooledSessions
from fault_injection.kinds.kit_version import KitVersion
from fault_injection.kinds.resource import ThreadLeak
from fault_injection.mechanisms import database
from fault_injection.mechanisms.patch import insert
from fault_injection.spec import Fault
from revelio.errors import FaultError
from testbed.stack import applications
from tests.fault_injection.traces import telling_words
from tests.fault_injection.world import World

Answer = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path / "state")


@pytest.fixture
def world(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(app, tmp_path)
    monkeypatch.setattr(database, "ask", made.ask)
    monkeypatch.setattr(kinds_module, "SAMPLE_S", 0.01)
    return made


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], None]:
    def install(answers: Answer) -> None:
        monkeypatch.setattr(database, "ask", lambda app, question, *values: answers(question))

    return install


def source(app_name: str) -> str:
    return "\n".join(path.read_text() for path in sorted((Path("testbed/apps") / app_name).glob("*.py")))


@pytest.mark.parametrize("app_name", applications())
def test_every_table_and_index_is_one_that_the_application_makes(app_name: str) -> None:
    text = source(app_name)
    app = app_named(app_name)
    for table in (*app.tables, *dict(app.indexes)):
        assert f"CREATE TABLE IF NOT EXISTS {table} (" in text, table
    for table, names in app.indexes:
        for name in names:
            by_name = re.search(rf"(INDEX|CONSTRAINT) {name} ", text)
            # The database names a key itself where its table's maker did not.
            keyed = re.search(
                rf"CREATE TABLE IF NOT EXISTS {table} \([^;]*(PRIMARY KEY|UNIQUE)|ALTER TABLE {table} ADD PRIMARY KEY", text
            )
            assert by_name or (keyed and name.endswith(("_pkey", "_key"))), name


def test_a_table_that_nobody_writes_is_refused_with_those_that_are(app: App) -> None:
    with pytest.raises(FaultError, match=r"'zones' of shop; possible places: products, orders, "):
        validate(app, Fault("lock_held", "zones", "everybody"))


@pytest.mark.parametrize("strength", ["everybody", "writers"])
@pytest.mark.parametrize("variant", range(4))
def test_whoever_holds_a_lock_does_what_people_do(app: App, world: World, strength: str, variant: int) -> None:
    fault = Fault("lock_held", "orders", strength, variant)
    (step,) = kind_named("lock_held").change(app, fault, world).do
    statement = str(step.argument("statement"))
    assert " orders " in statement
    assert telling_words(f"{statement} {database.CLIENT}") == set()


def test_a_lock_bites_once_somebody_waits_for_it_and_is_gone_once_nobody_holds_it(
    app: App, answer: Callable[[Answer], None]
) -> None:
    kind, fault = kind_named("lock_held"), Fault("lock_held", "orders", "everybody")
    for held, waiting, active, gone in ((0, 0, False, True), (1, 0, False, False), (1, 4, True, False), (0, 4, False, True)):
        answer(lambda _, figures=(held, waiting): [figures])  # type: ignore[misc]
        assert kind.active(app, fault, World.__new__(World)).confirmed == active
        assert kind.cleared(app, fault, World.__new__(World)).confirmed == gone


def test_indexes_and_keys_are_made_again_as_the_database_describes_them(app: App, world: World) -> None:
    change = DroppedIndex().change(app, Fault("dropped_index", "messages", "all"), world)
    did, undid = ([str(step.argument("statement")) for step in steps] for steps in (change.do, change.undo))
    assert did == [
        "ALTER TABLE messages DROP CONSTRAINT messages_order_id_key",
        "DROP INDEX messages_owner",
        "DROP INDEX messages_unread",
    ]
    assert undid[0].endswith("ALTER TABLE messages ADD CONSTRAINT messages_order_id_key UNIQUE (c); END IF; END $$")
    assert undid[1] == "CREATE INDEX IF NOT EXISTS messages_owner ON t (c)"
    assert undid[-1] == "ANALYZE messages"


def test_an_index_that_is_not_there_cannot_be_dropped(app: App, world: World) -> None:
    world.indexes.remove("messages_owner")
    with pytest.raises(FaultError, match="messages of shop has no index messages_owner"):
        DroppedIndex().change(app, Fault("dropped_index", "messages", "all"), world)
    assert len(DroppedIndex().change(app, Fault("dropped_index", "messages", "one"), world).do) == 1


@pytest.mark.parametrize(
    ("there", "rows", "refused", "active"),
    [([], 90_000, 0, True), ([], 10, 0, False), ([], 0, 3, True), ([("products_text", "CREATE INDEX", "")], 90_000, 3, False)],
)
def test_a_lost_index_bites_where_whole_tables_are_read_or_statements_refused(
    app: App, answer: Callable[[Answer], None], monkeypatch: pytest.MonkeyPatch, there: Any, rows: int, refused: int, active: bool
) -> None:
    figures = iter([(100, 7), (100 + rows, 7 + refused)])
    monkeypatch.setattr(kinds_module, "SAMPLE_S", 0.01)
    answer(lambda question: there if "pg_get_indexdef" in question else [next(figures)])
    effect = DroppedIndex().active(app, Fault("dropped_index", "products", "one"), World.__new__(World))
    assert effect.confirmed == active
    assert f"{rows} rows of products" in effect.figures


@pytest.mark.parametrize("kind", [ConnectionLeak(), UnpooledSessions(), ThreadLeak()], ids=lambda k: k.name)
def test_a_leak_reads_like_an_ordinary_line_of_the_kit(kind: KitVersion) -> None:
    text = Path(kind.file.replace("/app", "testbed")).read_text()
    patched = insert(text, kind.function, kind.statements.format(**next(iter(kind.strengths.values()))), where=kind.file)
    added = "".join(line for line in patched.splitlines() if line not in text.splitlines())
    assert telling_words(added) == set()


@pytest.mark.parametrize(("used", "active"), [((8, 8), True), ((7, 7), False), ((8, 7), False), ((7, 8), False)])
def test_a_leak_bites_once_the_pool_has_none_left_and_gets_none_back(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch, used: tuple[int, int], active: bool
) -> None:
    pages = iter(
        'db_client_connection_count{pool="postgres",state="idle"} 1.0\n'
        f'db_client_connection_count{{pool="postgres",state="used"}} {count}.0\n'
        'db_client_connection_max{pool="postgres"} 8.0\n'
        for count in used
    )
    monkeypatch.setattr(kinds_module, "SAMPLE_S", 0.01)
    monkeypatch.setattr(kinds_module, "metrics", lambda *_: next(pages))
    effect = ConnectionLeak().active(app, Fault("connection_leak", "orders", "fast"), world)
    assert (effect.confirmed, effect.figures) == (active, f"{min(used)} of 8 sessions of the pool of orders in use")


@pytest.mark.parametrize(
    ("ours", "every", "active", "gone"),
    [(60, 95, True, False), (10, 95, False, False), (40, 60, False, True), (3, 20, False, True)],
)
def test_sessions_beside_the_pool_bite_once_the_database_has_hardly_one_left_and_the_service_holds_most(
    app: App, answer: Callable[[Answer], None], ours: int, every: int, active: bool, gone: bool
) -> None:
    kind, fault = UnpooledSessions(), Fault("unpooled_sessions", "products", "fast")
    answer(lambda _: [(ours, every, 100)])
    assert kind.active(app, fault, World.__new__(World)).confirmed == active
    assert kind.cleared(app, fault, World.__new__(World)).confirmed == gone


@pytest.mark.parametrize(("said", "active"), [("sorry, too many clients already", True), ("connection refused", False)])
def test_a_database_that_refuses_further_sessions_has_none_left(
    app: App, answer: Callable[[Answer], None], said: str, active: bool
) -> None:
    def refuse(_: str) -> list[tuple[Any, ...]]:
        raise FaultError(said)

    answer(refuse)
    kind, fault = UnpooledSessions(), Fault("unpooled_sessions", "products", "fast")
    assert kind.active(app, fault, World.__new__(World)).confirmed == active
    assert not kind.cleared(app, fault, World.__new__(World)).confirmed


def test_a_service_that_shows_no_figures_has_no_verified_leak(app: App, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> str:
        raise FaultError("orders does not show its metrics")

    monkeypatch.setattr(kinds_module, "metrics", refused)
    assert not ConnectionLeak().active(app, Fault("connection_leak", "orders", "fast"), world).confirmed


@pytest.mark.parametrize(("seconds", "active", "gone"), [(0.9, True, False), (0.3, False, False), (0.01, False, True)])
def test_a_slow_disk_is_measured_by_a_commit(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch, seconds: float, active: bool, gone: bool
) -> None:
    kind, fault = kind_named("slow_disk_on_db"), Fault("slow_disk_on_db", "postgres", "hard")
    monkeypatch.setattr(database, "commit_seconds", lambda _: seconds)
    assert kind.active(app, fault, world).confirmed == active
    assert kind.cleared(app, fault, world).confirmed == gone


def test_the_databases_container_must_answer_before_a_fault_of_a_table_counts_as_undone(app: App) -> None:
    assert kind_named("lock_held").stands_on(app, Fault("lock_held", "orders", "writers")) == "postgres"
    assert kind_named("container_pause").stands_on(app, Fault("container_pause", "orders", "whole")) == "orders"
    assert kind_named("none").stands_on(app, Fault("none", "-", "none")) == ""
