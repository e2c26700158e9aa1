"""PostgreSQL: whatever a name holds it stays a value, statements lose their literals, and a bad server is an error in time."""

from __future__ import annotations

import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql

from revelio.catalog import bundled_catalog
from revelio.catalog.candidates import candidates
from revelio.catalog.unreachable import asks_presence
from revelio.errors import SourceError
from revelio.ranker.recommender import load_recommender
from revelio.service.pipeline import answer_incident
from revelio.settings import BUNDLED, Backend, SystemSettings
from revelio.systems.system import open_system
from revelio.tools.postgres.connection import Database
from revelio.tools.postgres.sql import masked, query_of, text_of
from revelio.tools.postgres.tool import CLIENT, SERVER, Postgres
from revelio.tools.samples import Sample
from revelio.types import Entity, Evidence, Incident, Query, QueryTemplate, Series
from tests.tools.conftest import HOSTILE_NAMES, QUICK, SCOPE, bound, filled, hostile, spec
from tests.tools.test_fetch import raw_server

_QUOTED = re.compile(r"\s*[eE]?'(?:[^'\\]|''|\\.)*'", re.DOTALL)
_ASK = sql.Composed([sql.SQL("SELECT 1")])


def tool(url: str = "") -> Postgres:
    return Postgres(spec("postgres"), Backend(url=url), QUICK)


def literal(quoted: str) -> str:
    """A literal as PostgreSQL reads it with standard_conforming_strings on."""
    inner = quoted.strip()
    if inner[0] in "eE":
        return re.sub(r"\\(.)", r"\1", inner[2:-1].replace("''", "'"), flags=re.DOTALL)
    return inner[1:-1].replace("''", "'")


@given(hostile())
def test_no_name_changes_the_structure_of_any_rendered_question(name: str) -> None:
    clean = name.replace("\x00", "�").encode("utf-8", errors="replace").decode()
    asker = tool()
    for harmless, query in zip(filled("postgres", "cart"), filled("postgres", name), strict=True):
        text = asker.render(query, SCOPE)
        assert _QUOTED.sub("''", text) == _QUOTED.sub("''", asker.render(harmless, SCOPE)), query.template.id
        if "${service}" in query.template.body:
            assert clean in [literal(m[0]) for m in _QUOTED.finditer(text)]


@given(hostile())
def test_the_statement_that_is_sent_does_not_hold_the_name_at_all(name: str) -> None:
    text = "SELECT 1 WHERE a = ${service} AND b LIKE '10%' AND c = ${service}"
    sent = query_of(text, {"service": name}).as_string()
    assert sent == "SELECT 1 WHERE a = %(service)s AND b LIKE '10%%' AND c = %(service)s"


def test_a_name_that_looks_like_a_hole_is_not_filled_again() -> None:
    assert text_of("SELECT ${a}, ${b}", {"a": "${b}", "b": "x"}) == "SELECT '${b}', 'x'"


def test_every_bundled_template_leaves_no_hole_open() -> None:
    for query in filled("postgres", "cart"):
        assert "${" not in tool().render(query, SCOPE), query.template.id


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT * FROM t WHERE name = 'Mary''s' AND n = 42", "SELECT * FROM t WHERE name = ? AND n = ?"),
        ("UPDATE t SET a = E'it\\'s' WHERE id = $1", "UPDATE t SET a = ? WHERE id = $1"),
        ('SELECT $tag$ secret $tag$, $$x$$, "odd \'name"', 'SELECT ?, ?, "odd \'name"'),
        ("SELECT 1 -- for mary@example.org\n FROM t /* 'x' */", "SELECT ? FROM t"),
        ("SELECT * FROM t WHERE token = 'cut off he", "SELECT * FROM t WHERE token = ?"),
        ("SELECT a1, 1.5e3, 0xff FROM t2", "SELECT a1, ?, ? FROM t2"),
    ],
)
def test_a_statement_is_shown_without_its_literals(statement: str, expected: str) -> None:
    assert masked(statement) == expected


@given(st.text(min_size=1, max_size=50).filter(lambda t: t.strip("\x00")), st.integers(0, 60))
def test_no_quoted_value_is_shown_also_when_the_statement_was_cut_off(value: str, cut: int) -> None:
    secret = "S3cret" + value.replace("'", "''") + "S3cret"
    statement = f"SELECT * FROM t WHERE a = '{secret}' AND b = 1"
    assert "S3cret" not in masked(statement)
    assert "S3cret" not in masked(statement[: len(statement) - cut])


def test_where_the_database_was_not_looked_at_its_questions_are_no_candidates() -> None:
    asked = candidates(bundled_catalog(), [Entity("service", "cart"), Entity("container", "postgres"), Entity("table", "x: t")])
    assert [q.template.id for q in asked if q.template.tool == "postgres"] == ["postgres.seq_scans"]
    there = [Entity("service", "cart"), Entity(SERVER, "postgres"), Entity(CLIENT, "psql")]
    asked = candidates(bundled_catalog(), there)
    assert {q.template.id for q in asked if q.template.tool == "postgres"} == {
        t.id for t in spec("postgres").templates if t.id != "postgres.seq_scans" and not asks_presence(t)
    }


def test_whoever_has_a_session_may_be_asked_for_its_locks_not_only_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = tool()
    seen = Sample(SCOPE.window.end - 2.0, {("pg_sessions", "cart"): 2.0, ("pg_sessions", "psql"): 1.0})
    long_ago = Sample(SCOPE.baseline.start - 60.0, {("pg_sessions", "pgAdmin"): 1.0})
    monkeypatch.setattr(asked._sampler, "samples", lambda deadline: (long_ago, seen))
    evidence = asked.snapshot(SCOPE)
    assert {e.name for e in evidence.entities if e.kind == CLIENT} == {"cart", "psql"}
    locks = [q for q in candidates(bundled_catalog(), evidence.entities) if q.template.id == "postgres.locks"]
    assert {dict(q.bindings)["service"] for q in locks} == {"cart", "psql"}


def test_a_system_without_a_database_has_no_such_tool_and_one_with_it_has() -> None:
    without = open_system("s", SystemSettings(), bundled_catalog())
    assert without.tools == {}
    having = open_system(
        "s", SystemSettings(backends={"postgres": Backend(url="postgresql://127.0.0.1:9/x")}), bundled_catalog(), 0.5
    )
    assert list(having.tools) == ["postgres"]
    seen = having.snapshot(time.time())
    assert (seen.missing, seen.entities) == (("postgres",), (Entity("postgres_unreachable", "postgres"),))
    having.close()


def test_a_model_that_was_trained_without_these_tools_ranks_their_questions_too() -> None:
    recommender = load_recommender(BUNDLED / "model", bundled_catalog())
    times = tuple(SCOPE.baseline.start + 2 * i for i in range(46))
    server = Entity(SERVER, "postgres")
    lit = tuple(9.0 if t >= SCOPE.window.start else 0.0 for t in times)
    series = (Series(server, "pg_blocked_sessions", "sessions", times, lit), Series(server, "pg_lock_wait", "s", times, lit))
    seen = Evidence(SCOPE.window, SCOPE.baseline, (server, Entity("container", "postgres")), series)
    answer = answer_incident(Incident("i", "shop", "checkout hangs", SCOPE.window.end, seen), recommender, k=50)
    assert sum(q.probability for q in answer.queries) == pytest.approx(1.0, abs=1e-3)
    assert {t.id for t in spec("postgres").templates if "service" not in t.title and not asks_presence(t)} - {
        "postgres.seq_scans"
    } <= {q.query.template.id for q in answer.queries}
    assert recommender.ranker.encoder.noise["pg_sessions"] == 1
    assert "locks" in recommender.ranker.encoder.tool_texts["postgres"]


def test_a_query_of_ones_own_is_plain_sql() -> None:
    own = Query(QueryTemplate("own", "postgres", "mine", "", "SELECT ${service}"), (("service", "it's"),))
    assert tool().render(own, SCOPE) == "SELECT 'it''s'"


def test_a_body_without_sql_is_an_error_of_the_source() -> None:
    with pytest.raises(SourceError, match="has to be SQL"):
        tool().render(Query(QueryTemplate("own", "postgres", "mine", "", "command: [x]")), SCOPE)


def test_there_is_no_page_to_link_to() -> None:
    assert tool().link(bound("postgres.blocking", database="postgres"), SCOPE) is None


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "no address is set"),
        ("postgresql://me:hunter2@127.0.0.1:1/x", r"cannot be reached at 127\.0\.0\.1:1/x"),
        ("postgresql://me:hunter2@[/x?y", "url cannot be read"),
        ("http://me:hunter2@127.0.0.1:1/x", "url cannot be read"),
    ],
)
def test_a_wrong_address_is_told_without_its_password(url: str, words: str) -> None:
    with pytest.raises(SourceError, match=words) as told:
        tool(url).ping()
    assert "hunter2" not in str(told.value)


def address(http: str) -> str:
    return http.replace("http://", "postgresql://a:b@") + "/x?sslmode=disable"


def test_a_server_that_hangs_is_given_up_after_the_limit() -> None:
    with raw_server(b"", hang=True) as url:
        began = time.monotonic()
        with pytest.raises(SourceError, match=r"no answer within 0\.5 s"):
            tool(address(url)).snapshot(SCOPE)
        assert time.monotonic() - began < 1.5


def test_a_server_that_drips_is_given_up_although_it_never_pauses_for_long() -> None:
    with raw_server(message(b"R", struct.pack(">i", 0)) * 200, drip_s=0.005) as url:
        began = time.monotonic()
        with pytest.raises(SourceError, match="postgres"):
            tool(address(url)).ping()
        assert time.monotonic() - began < 1.5


@pytest.mark.parametrize(
    "lie", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00" * 500, b"R\xff\xff\xff\xff", b"E\x00\x00\x00\x05x", b""]
)
def test_a_server_that_speaks_another_language_is_an_error_of_the_source(lie: bytes) -> None:
    with raw_server(lie) as url:
        began = time.monotonic()
        with pytest.raises(SourceError, match="postgres"):
            tool(address(url)).ping()
        assert time.monotonic() - began < 1.5


def message(kind: bytes, body: bytes) -> bytes:
    """A message of the server's in protocol 3.0."""
    return kind + struct.pack(">i", len(body) + 4) + body


READY = message(b"Z", b"I")
IN_TRANSACTION = message(b"Z", b"T")
COLUMN = message(b"T", struct.pack(">h", 1) + b"a\x00" + struct.pack(">ihihih", 0, 0, 25, -1, -1, 0))


def row(value: bytes) -> bytes:
    return message(b"D", struct.pack(">hi", 1, len(value)) + value)


@contextmanager
def lying_server(answer: bytes, *, forever: bool = False) -> Iterator[str]:
    """A server that lets everybody in and then answers every question with these bytes, again and again if ``forever``."""
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def serve() -> None:
        listener.settimeout(5.0)
        try:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(5.0)
                connection.recv(65536)
                connection.sendall(message(b"R", struct.pack(">i", 0)) + message(b"S", b"client_encoding\0UTF8\0") + READY)
                connection.recv(65536)
                connection.sendall(message(b"C", b"BEGIN\0") + IN_TRANSACTION)
                connection.recv(65536)
                connection.sendall(message(b"1", b"") + message(b"2", b"") + COLUMN)
                connection.sendall(answer)
                while forever and not stop.is_set():
                    connection.sendall(answer)
                stop.wait(3.0)
        except OSError:
            return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"postgresql://a:b@127.0.0.1:{listener.getsockname()[1]}/x?sslmode=disable"
    finally:
        stop.set()
        listener.close()
        thread.join(timeout=6.0)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (row(b"x" * 1000) * 50, "more than 0.2 MB"),
        (row(b"x") * 1000, "more than 0.2 MB"),
        (b"D" + struct.pack(">i", 1_000_000_000) + b"x" * 100_000, "more than 0.2 MB|no answer within"),
        (message(b"N", b"SNOTICE\0C00000\0Mhello\0\0"), "more than 0.2 MB|no answer within"),
    ],
    ids=["long rows", "many rows", "one endless row", "notices"],
)
def test_a_server_that_floods_is_cut_off(answer: bytes, words: str) -> None:
    with lying_server(answer, forever=True) as url, closing(Database("postgres", url, QUICK)) as database:
        began = time.monotonic()
        with pytest.raises(SourceError, match=words):
            database.ask(_ASK, {})
        assert time.monotonic() - began < 1.5


@pytest.mark.parametrize(
    "answer",
    [
        row(b"\xff\xfe") + message(b"C", b"SELECT 1\0") + IN_TRANSACTION,
        message(b"D", struct.pack(">hi", 7, 5) + b"x") + IN_TRANSACTION,
        message(b"E", b"SERROR\0C42601\0Mwhat?\0\0") + IN_TRANSACTION,
        b"\x07garbage",
    ],
    ids=["no text", "torn row", "refusal", "garbage"],
)
def test_an_answer_that_is_a_lie_is_an_error_of_the_source(answer: bytes) -> None:
    with lying_server(answer) as url, closing(Database("postgres", url, QUICK)) as database:
        began = time.monotonic()
        with pytest.raises(SourceError, match="postgres"):
            database.ask(_ASK, {})
        assert time.monotonic() - began < 1.5


def test_a_server_that_answers_the_wrong_columns_is_an_error_of_the_source() -> None:
    answer = row(b"x") + message(b"C", b"SELECT 1\0") + IN_TRANSACTION
    with lying_server(answer) as url, closing(tool(url)) as asked, pytest.raises(SourceError, match="postgres"):
        asked.snapshot(SCOPE)


def test_hostile_names_render_without_a_backend() -> None:
    for name in HOSTILE_NAMES:
        for query in filled("postgres", name):
            assert tool().render(query, SCOPE)
