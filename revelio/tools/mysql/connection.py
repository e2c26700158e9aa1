"""A connection to MySQL or MariaDB that only reads, and neither waits longer nor takes more than the limits allow."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import unquote, urlsplit

import pymysql
from pymysql.cursors import SSCursor

from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.deadline import end
from revelio.tools.access import Access
from revelio.tools.base import Limits
from revelio.tools.bounded_call import OVERHEAD, BoundedCalls, LateError, TooMuchError
from revelio.tools.mysql.sql import refusal
from revelio.tools.statements import StatementRows
from revelio.types import Cell

MARIADB, MYSQL = "mariadb", "mysql"
"""What a server speaks."""

PORT = 3306
PROGRAM = "revelio"
_CELL_CHARS = 2_000
_FULL = (1040, 1203, 1226)
_REFUSED = (1044, 1045, 1698)
_LATE = (1969, 3024, 1205)
_LOST = (2003, 2006, 2013, 2014, 2027, 2055)
_UNKNOWN_SETTING = 1193
_WRONG_URL = "its url cannot be read; it looks like mysql://USER:PASSWORD@HOST:3306/DATABASE"


class FullError(SourceError):
    """The server has no connection left to give."""


class RefusedError(SourceError):
    """The server does not run the statement."""


class LostError(SourceError):
    """There is no connection to the server, or none any more."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server is, and who asks it."""

    host: str
    port: int
    user: str
    password: str
    database: str

    @property
    def place(self) -> str:
        """Its address without the password."""
        return f"{self.host}:{self.port}"


class Database:
    """Asks one server, one statement at a time. Safe to share between threads: they wait for each other within the limit."""

    def __init__(self, source: str, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.source = source
        self.limits = limits
        self._backend = backend
        self._session: _Session | None = None
        self._turn = threading.Lock()

    @property
    def place(self) -> str:
        """Its address without the password."""
        return self._server().place

    def ask(self, statement: Callable[[str], str], most: int | None = None, deadline: float | None = None) -> StatementRows:
        """At most ``most`` rows (by default the limit's) of what ``statement`` says in the server's dialect.

        The answer comes before ``deadline`` (of ``time.monotonic``; by default the limit from now). A connection that was
        lost since the last question is opened again.

        Raises ``RefusedError`` when the statement may do more than read, or the server does not run it, ``FullError`` when all
        its connections are taken, and ``SourceError`` when it does not answer in time or as MySQL does.
        """
        until = end(self.limits.seconds) if deadline is None else deadline
        if not self._turn.acquire(timeout=max(0.0, until - time.monotonic())):
            raise self._late()
        try:
            used_before = self._session is not None
            try:
                return self._once(statement, most or self.limits.rows, until)
            except LostError:
                if not used_before:
                    raise
                return self._once(statement, most or self.limits.rows, until)
        finally:
            self._turn.release()

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            self._give_up()

    def _once(self, statement: Callable[[str], str], most: int, deadline: float) -> StatementRows:
        try:
            if self._session is None:
                access = Access(self.source, self._backend.url, self._backend)
                self._session = _Session(self._server(), access, self.limits)
            return self._session.ask(statement, most, deadline)
        except pymysql.Error as error:
            meant = self._translate(error)
            if not isinstance(meant, RefusedError):
                self._give_up()
            raise meant from error
        except SourceError:
            raise
        except Exception as error:  # a server that lies can make the client library fail in any way
            self._give_up()
            raise self._connection_error(error) from error

    def _give_up(self) -> None:
        if self._session is not None:
            self._session.end()
            self._session = None

    def _translate(self, error: pymysql.Error) -> SourceError:
        code, why = _said(error)
        if code in _FULL:
            return FullError(self.source, f"has no connection left for {PROGRAM}: {why}")
        if code in _LATE:
            return self._late()
        if code in _REFUSED:
            return SourceError(self.source, f"lets {self._server().user} not in: {why}; are user and password in its url right?")
        if code in _LOST or not isinstance(code, int) or code == 0:
            return self._connection_error(error)
        return RefusedError(self.source, f"does not answer this: {why}")

    def _connection_error(self, error: Exception) -> SourceError:
        if isinstance(error, LateError):
            return self._late()
        if isinstance(error, TooMuchError):
            return SourceError(self.source, f"answered with more than {self.limits.bytes / 1e6:g} MB; ask for less")
        _, why = _said(error)
        return LostError(self.source, f"cannot be reached at {self.place}: {why}; is it running, and is its url right?")

    def _late(self) -> SourceError:
        return SourceError(self.source, f"{self.place} gave no answer within {self.limits.seconds:g} s; is it overloaded?")

    def _server(self) -> Server:
        if not self._backend.url:
            raise SourceError(self.source, "no address is set for it; give its backend a url, as mysql://USER:PASSWORD@HOST:3306")
        try:
            url = urlsplit(self._backend.url)
            if url.scheme not in (MYSQL, MARIADB) or not url.hostname:
                raise ValueError
            user, password = unquote(url.username or ""), unquote(url.password or "")
            return Server(url.hostname, url.port or PORT, user, password, unquote(url.path.strip("/")))
        except ValueError:
            raise SourceError(self.source, _WRONG_URL) from None


class _Session:
    """One connection, made when it is first needed, and the thread that uses it."""

    def __init__(self, server: Server, access: Access, limits: Limits) -> None:
        self._server = server
        self._access = access
        self._limits = limits
        self._calls = BoundedCalls(MYSQL)
        self._connection: _Guarded | None = None

    def ask(self, statement: Callable[[str], str], most: int, deadline: float) -> StatementRows:
        """Raises what the library raises, ``RefusedError``, ``LateError`` and ``TooMuchError``."""
        return self._calls.call(lambda: self._answer(statement, most), deadline)

    def end(self) -> None:
        """Cut the connection."""
        self._calls.end(self._close)

    def _answer(self, statement: Callable[[str], str], most: int) -> StatementRows:
        connection = self._connected()
        said = statement(connection.dialect)
        why = refusal(said)
        if why:
            raise RefusedError(self._access.source, f"the query {why}")
        connection.may_receive(2 * self._limits.bytes + OVERHEAD)
        cursor = SSCursor(connection)
        cursor.execute(said)
        found: list[tuple[Cell, ...]] = []
        size = 0
        while (row := cursor.fetchone()) is not None:
            found.append(tuple(_cell(value) for value in row))
            size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
            if size > self._limits.bytes:
                raise TooMuchError
            if len(found) > most:
                connection.drop()  # rather than read the rest
                self._connection = None
                break
        names = tuple(str(column[0]) for column in cursor.description or ())
        return StatementRows(names, tuple(found[:most]), len(found) > most)

    def _connected(self) -> _Guarded:
        if self._connection is None:
            server, seconds = self._server, self._limits.seconds
            plain = socket.create_connection((server.host, server.port), seconds)
            self._calls.uses(socket.socket(fileno=os.dup(plain.fileno())))
            self._connection = _Guarded(
                host=server.host,
                user=server.user,
                password=server.password,
                database=server.database or None,
                charset="utf8mb4",
                connect_timeout=max(1.0, seconds),
                read_timeout=max(1.0, seconds),
                write_timeout=max(1.0, seconds),
                program_name=PROGRAM,
                autocommit=True,
                ssl=self._access.context(),
                defer_connect=True,
            )
            self._connection.connect(plain)
            self._connection.only_reads(seconds)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.drop()


class _Guarded(pymysql.connections.Connection):  # type: ignore[misc]
    """A connection that stops reading where the limit is: the library reads one packet whole, and as many as come."""

    _left = OVERHEAD

    @property
    def dialect(self) -> str:
        """What the server speaks, as it greeted."""
        return MARIADB if MARIADB in str(self.get_server_info()).lower() else MYSQL

    def may_receive(self, most: int) -> None:
        """As many bytes from now on; then ``TooMuchError``."""
        self._left = most

    def only_reads(self, seconds: float) -> None:
        """Nothing may be written, locked for long, or run for longer than the limit, whatever the account may do."""
        longest = f"max_statement_time = {seconds:g}" if self.dialect == MARIADB else f"max_execution_time = {seconds * 1e3:.0f}"
        for setting in ("sql_mode = ''", "TRANSACTION READ ONLY", f"lock_wait_timeout = {max(1, round(seconds))}", longest):
            try:
                self.query(f"SET SESSION {setting}")
            except pymysql.Error as error:
                if _said(error)[0] != _UNKNOWN_SETTING:  # a relative that lacks it still has to answer in time
                    raise

    def drop(self) -> None:
        """Close it without a word to the server, and without reading what is left of an answer."""
        if self._result is not None:
            self._result.unbuffered_active = False
        with contextlib.suppress(Exception):  # whatever state a server has left it in
            self._force_close()

    def _read_bytes(self, num_bytes: int) -> Any:
        self._left -= num_bytes
        if self._left < 0:
            self.drop()
            raise TooMuchError
        return super()._read_bytes(num_bytes)


def _cell(value: object) -> Cell:
    if isinstance(value, Decimal):
        return float(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
    return text[:_CELL_CHARS]


def _said(error: Exception) -> tuple[object, str]:
    """The number of an error, where it is the server's or the library's, and its words."""
    code = error.args[0] if error.args else None
    words = error.args[1] if len(error.args) > 1 else error
    lines = [line.strip() for line in str(words).splitlines() if line.strip()]
    return code, lines[0][:300] if lines else type(error).__name__
