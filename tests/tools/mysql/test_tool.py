"""MySQL and MariaDB: what a real MariaDB shows of a fault, and what neither a name, a text nor a server can do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pymysql
import pytest
from hypothesis import given
from hypothesis import strategies as st

from revelio.catalog import bundled_catalog
from revelio.catalog.candidates import candidates
from revelio.catalog.unreachable import asks_presence
from revelio.errors import SourceError
from revelio.settings import Backend, SystemSettings
from revelio.systems.system import open_system
from revelio.tools.base import Limits, Scope
from revelio.tools.mysql.connection import MARIADB, MYSQL
from revelio.tools.mysql.sql import masked, refusal, sent, text_of
from revelio.tools.mysql.tool import Mysql
from revelio.tools.registry import probes
from revelio.types import Entity, Query, QueryTemplate, Result, Window
from tests.tools.conftest import HOSTILE_NAMES, QUICK, SCOPE, bound, filled, hostile, spec
from tests.tools.mysql.server import Server, mariadb
from tests.tools.test_fetch import raw_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One MariaDB for the tests of this file."""
    with mariadb(tmp_path_factory.mktemp("mariadb")) as started:
        yield started


@pytest.fixture
def asked(server: Server) -> Iterator[Mysql]:
    """The tool, as a user with PROCESS."""
    with server.tool() as tool:
        yield tool


def now() -> Scope:
    """A window that began before the tool looked for the first time, and goes on."""
    at = time.time()
    return Scope("shop", Window(at - 30.0, at + 60.0), Window(at - 90.0, at - 30.0))


def rows(result: Result) -> list[dict[str, Any]]:
    return [dict(zip(result.columns, row, strict=True)) for row in result.rows]


def test_a_server_tells_its_version(asked: Mysql) -> None:
    assert asked.ping().startswith("MariaDB 1")


def test_every_figure_is_read_in_one_look(asked: Mysql) -> None:
    asked.snapshot(now())
    assert asked._reader._known == asked._reader._all


def test_a_row_lock_shows_who_blocks_whom_without_their_values(server: Server, asked: Mysql) -> None:
    with ExitStack() as stack:
        holder, waiter = (stack.enter_context(server.session()) for _ in range(2))
        holder.cursor().execute("UPDATE orders SET note = 'S3cret' WHERE id = 1")
        waiter._execute_command(3, "UPDATE orders SET note = 'S3cret' WHERE id = 1")  # sent, and not waited for
        scope = now()
        deadline = time.monotonic() + 20.0
        while not (result := asked.run(bound("mysql.blocking", database="mysql"), scope)).rows or result.signal < 1.0:
            assert time.monotonic() < deadline, result
            time.sleep(0.3)
        [row] = rows(result)
        assert (row["blocked"], row["blocking"]) == ("app", "app")
        assert row["blocked statement"] == "UPDATE orders SET note = ? WHERE id = ?"
        assert "S3cret" not in str(result.rows)
        seen = asked.snapshot(scope)
        assert Entity("mysql_client", "app") in seen.entities
        sessions = asked.run(bound("mysql.sessions", client="app", database="mysql"), scope)
        assert sum(row["sessions"] for row in rows(sessions)) >= 2 and sessions.signal > 0.0
        longest = rows(asked.run(bound("mysql.longest", database="mysql"), scope))
        assert "app" in {row["user"] for row in longest}
        holder.rollback()


def test_connections_are_counted_by_user_against_the_limit(server: Server, asked: Mysql) -> None:
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(server.session())
        told = rows(asked.run(bound("mysql.connections", database="mysql"), now()))
    [mine] = [row for row in told if row["user"] == "app"]
    assert mine["connections"] >= 3 and mine["limit of all"] == 20, "sessions of an earlier test may still be closing"


def test_a_server_without_a_connection_left_answers_the_question_about_them(server: Server) -> None:
    with ExitStack() as stack:
        for _ in range(30):
            try:
                stack.enter_context(server.session())
            except pymysql.Error:
                break
        with server.tool() as tool:
            result = tool.run(bound("mysql.connections", database="mysql"), now())
            with pytest.raises(SourceError, match="no connection left"):
                tool.run(bound("mysql.blocking", database="mysql"), now())
    assert result.signal == 1.0 and "no connection left" in result.summary


def test_statements_are_shown_by_what_they_cost(server: Server, asked: Mysql) -> None:
    with server.session() as client:
        for n in range(3):
            client.cursor().execute(f"SELECT COUNT(*) FROM orders AS a JOIN orders AS b WHERE a.note <> '{n}'")
    told = rows(asked.run(bound("mysql.statements", database="mysql"), now()))
    [mine] = [row for row in told if "`orders` AS `a`" in row["statement"]]
    assert mine["calls"] == 3 and "?" in mine["statement"]
    assert not any("`revelio`" in row["statement"] for row in told)


def test_a_replica_is_an_entity_and_tells_its_lag(server: Server, tmp_path: Path) -> None:
    with mariadb(tmp_path, "--server-id=2") as replica, replica.tool() as tool:
        assert not [e for e in tool.snapshot(now()).entities if e.kind == "mysql_replica"]
        replica.admin(f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={server.port}, MASTER_USER='x'")
        assert not [e for e in tool.snapshot(now()).entities if e.kind == "mysql_replica"], "it does not run, and has no lag"
        told = rows(tool.run(bound("mysql.replication", replica="mysql"), now()))
        assert (told[0]["Slave_IO_Running"], told[0]["Master_User"]) == ("No", "x")


def test_a_user_who_may_not_see_others_is_told_what_to_grant(server: Server) -> None:
    with server.tool("powerless") as tool, pytest.raises(SourceError, match="GRANT PROCESS"):
        tool.ping()


def test_a_wrong_password_is_told_without_it(server: Server) -> None:
    tool = Mysql(spec("mysql"), Backend(url=server.url("observer", "hunter2")), QUICK)
    with closing(tool), pytest.raises(SourceError, match="lets observer not in") as told:
        tool.ping()
    assert "hunter2" not in str(told.value)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM shop.orders",
        "WITH a AS (SELECT 1) DELETE FROM shop.orders",
        "SELECT * FROM shop.orders INTO OUTFILE '/tmp/revelio-was-here'",
        "SELECT 1 /*! INTO OUTFILE '/tmp/revelio-was-here' */",
        "SELECT 1; DROP TABLE shop.orders",
        "SELECT * FROM shop.orders FOR UPDATE",
        "SELECT GET_LOCK('a', 10)",
        "SET GLOBAL max_connections = 1",
        "KILL 1",
    ],
)
def test_nothing_but_reading_is_done_for_an_administrator(server: Server, statement: str) -> None:
    own = Query(QueryTemplate("own", "mysql", "mine", "", statement), ())
    tool = Mysql(spec("mysql"), Backend(url=server.url("admin", "admin")), Limits(seconds=5.0))
    with closing(tool), pytest.raises(SourceError):
        tool.run(own, now())
    with server.session() as client, client.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM orders")
        assert cursor.fetchone() == (2,)


def test_a_statement_that_takes_too_long_is_given_up_here_and_there(server: Server) -> None:
    endless = "SELECT COUNT(*) FROM " + ", ".join(f"information_schema.COLLATIONS AS a{n}" for n in range(9))
    own = Query(QueryTemplate("own", "mysql", "mine", "", endless), ())
    with server.tool(limits=Limits(seconds=1.5)) as tool:
        began = time.monotonic()
        with pytest.raises(SourceError, match=r"no answer within 1\.5 s"):
            tool.run(own, now())
        assert time.monotonic() - began < 5.0
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline and _running(server, "COLLATIONS AS a8"):
        time.sleep(0.2)
    assert not _running(server, "COLLATIONS AS a8")


def _running(server: Server, words: str) -> bool:
    with server.session("admin", "admin", None) as client, client.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE info LIKE %s AND id <> CONNECTION_ID()", (f"%{words}%",)
        )
        return bool(cursor.fetchone()[0])


def test_rows_and_bytes_are_limited(server: Server) -> None:
    many = Query(QueryTemplate("own", "mysql", "mine", "", "SELECT * FROM information_schema.COLUMNS"), ())
    large = Query(QueryTemplate("own", "mysql", "mine", "", "SELECT REPEAT('x', 3000000)"), ())
    with server.tool(limits=Limits(seconds=10.0, rows=7, bytes=500_000)) as tool:
        result = tool.run(many, now())
        assert (len(result.rows), result.truncated) == (7, True)
        with pytest.raises(SourceError, match=r"more than 0\.5 MB"):
            tool.run(large, now())
        assert tool.ping(), "it goes on with another connection"


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_is_a_value_for_a_real_server(asked: Mysql, name: str) -> None:
    assert asked.run(bound("mysql.sessions", client=name, database="mysql"), now()).rows == ()


def test_a_server_is_found_by_its_greeting(server: Server) -> None:
    place = f"USER:PASSWORD@127.0.0.1:{server.port}"
    look, other = probes()["mariadb"].look, probes()["mysql"].look
    assert look is not None and other is not None
    seen = look(f"mariadb://{place}")
    assert not seen.usable and "GRANT PROCESS" in seen.detail
    with pytest.raises(SourceError, match="does not answer like MySQL"):
        other(f"mysql://{place}")


def test_a_mariadb_of_the_settings_is_asked_the_same_questions(server: Server) -> None:
    settings = SystemSettings(backends={"mariadb": Backend(url=server.url().replace("mysql://", "mariadb://"))})
    with closing(open_system("shop", settings, bundled_catalog(), 10.0)) as system:
        evidence = system.snapshot(now())
        there = {q.template.id: q for q in candidates(bundled_catalog(), evidence.entities)}
        assert "mysql.blocking" in there and "mysql.replication" not in there
        with server.session():
            assert system.run(there["mysql.connections"], evidence).rows
        assert system.source(there["mysql.connections"]) == "MariaDB"


@given(hostile())
def test_no_name_changes_the_structure_of_what_is_sent_or_shown(name: str) -> None:
    text = "SELECT 1 WHERE a = ${client} AND b LIKE '10%'"
    assert (
        sent(text, {"client": name}).replace(sent("${client}", {"client": name}), "?") == "SELECT 1 WHERE a = ? AND b LIKE '10%'"
    )
    inner = text_of("${client}", {"client": name})[1:-1]
    assert not inner.replace("\\\\", "").replace("''", "").count("'")
    assert not inner.replace("\\\\", "").endswith("\\")


@given(st.text(min_size=1, max_size=50).filter(lambda t: t.strip("\x00")), st.integers(0, 60))
def test_no_quoted_value_is_shown_also_when_the_statement_was_cut_off(value: str, cut: int) -> None:
    secret = "S3cret" + value.replace("\\", "\\\\").replace("'", "''") + "S3cret"
    statement = f"SELECT * FROM t WHERE a = '{secret}' AND b = 1"
    assert "S3cret" not in masked(statement)
    assert "S3cret" not in masked(statement[: len(statement) - cut])


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT `a b`, t1.c2 FROM t WHERE n = 42", "SELECT `a b`, t1.c2 FROM t WHERE n = ?"),
        ('UPDATE t SET a = "it\\"s" # for mary', "UPDATE t SET a = ?"),
        ("SELECT 1 -- for mary@example.org\n FROM t /* 'x' */", "SELECT ? FROM t"),
    ],
)
def test_a_statement_is_shown_without_its_literals(statement: str, expected: str) -> None:
    assert masked(statement) == expected


def test_every_bundled_statement_is_let_through_and_leaves_no_hole_open() -> None:
    tool = Mysql(spec("mysql"), Backend(url=""), QUICK)
    for query in filled("mysql", "cart"):
        statement = tool._question(query)
        assert [refusal(statement.of(d)) for d in (MYSQL, MARIADB)] == [None, None], query.template.id
        assert "${" not in tool.render(query, SCOPE), query.template.id


def test_where_no_server_was_looked_at_its_questions_are_no_candidates() -> None:
    there = [Entity("service", "cart"), Entity("container", "mysql"), Entity("database", "mysql")]
    assert not [q for q in candidates(bundled_catalog(), there) if q.template.tool == "mysql"]
    there += [Entity("mysql_server", "mysql"), Entity("mysql_client", "app"), Entity("mysql_replica", "mysql")]
    asked = {q.template.id for q in candidates(bundled_catalog(), there) if q.template.tool == "mysql"}
    assert asked == {t.id for t in spec("mysql").templates if not asks_presence(t)}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "no address is set"),
        ("mysql://me:hunter2@127.0.0.1:1/x", r"cannot be reached at 127\.0\.0\.1:1"),
        ("mysql://me:hunter2@127.0.0.1:many/x", "url cannot be read"),
        ("http://me:hunter2@127.0.0.1:1/x", "url cannot be read"),
    ],
)
def test_a_wrong_address_is_told_without_its_password(url: str, words: str) -> None:
    with closing(Mysql(spec("mysql"), Backend(url=url), QUICK)) as tool, pytest.raises(SourceError, match=words) as told:
        tool.ping()
    assert "hunter2" not in str(told.value)


def test_a_server_that_hangs_is_given_up_after_the_limit() -> None:
    with raw_server(b"", hang=True) as url, closing(Mysql(spec("mysql"), Backend(url=_mysql(url)), QUICK)) as tool:
        began = time.monotonic()
        with pytest.raises(SourceError, match=r"no answer within 0\.5 s"):
            tool.snapshot(SCOPE)
        assert time.monotonic() - began < 3.0


@pytest.mark.parametrize("lie", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00" * 500, b"\xff\xff\xff\x00\x0a8.0.1\x00", b""])
def test_a_server_that_speaks_another_language_is_an_error_of_the_source(lie: bytes) -> None:
    with raw_server(lie) as url, closing(Mysql(spec("mysql"), Backend(url=_mysql(url)), QUICK)) as tool:
        began = time.monotonic()
        with pytest.raises(SourceError, match="mysql"):
            tool.ping()
        assert time.monotonic() - began < 3.0


def _mysql(http: str) -> str:
    return http.replace("http://", "mysql://a:b@")
