"""A connection to PostgreSQL that only reads, and neither waits longer nor takes more than the limits allow."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from revelio.errors import SourceError
from revelio.support.deadline import end
from revelio.tools.base import Limits
from revelio.tools.bounded_call import OVERHEAD, BoundedCalls, LateError, TooMuchError, received
from revelio.tools.postgres.sql import storable
from revelio.tools.statements import StatementRows
from revelio.types import Cell

APPLICATION = "revelio"
_SHORTEST_CONNECT_S = 2
"""The client library waits no shorter; the caller gets the error sooner."""

_CELL_CHARS = 2_000
_FULL = ("too many", "connection slots")
_WRONG_URL = "its url cannot be read; it looks like postgresql://USER:PASSWORD@HOST/DATABASE"


class FullError(SourceError):
    """The server has no connection left to give."""


class RefusedError(SourceError):
    """The server does not run the statement."""


class LostError(SourceError):
    """There is no connection to the server, or none any more."""


class Database:
    """Asks one server, one statement at a time. Safe to share between threads: they wait for each other within the limit."""

    def __init__(self, source: str, url: str, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.source = source
        self.limits = limits
        self.place = _place(url)
        self._url = url
        self._session: _Session | None = None
        self._turn = threading.Lock()

    def ask(
        self, statement: sql.Composed, parameters: Mapping[str, str], most: int | None = None, deadline: float | None = None
    ) -> StatementRows:
        """At most ``most`` rows (by default the limit's) of a query, run in a transaction that cannot write.

        The answer comes before ``deadline`` (of ``time.monotonic``; by default the limit from now). A connection that was
        lost since the last question is opened again.

        Raises ``RefusedError`` when the server does not run it, ``FullError`` when all its connections are taken, and
        ``SourceError`` when it does not answer in time or as PostgreSQL does.
        """
        until = end(self.limits.seconds) if deadline is None else deadline
        if not self._turn.acquire(timeout=max(0.0, until - time.monotonic())):
            raise self._late()
        try:
            used_before = self._session is not None
            try:
                return self._once(statement, parameters, most or self.limits.rows, until)
            except LostError:
                if not used_before:
                    raise
                return self._once(statement, parameters, most or self.limits.rows, until)
        finally:
            self._turn.release()

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            self._give_up()

    def _once(self, statement: sql.Composed, parameters: Mapping[str, str], most: int, deadline: float) -> StatementRows:
        try:
            if self._session is None:
                self._session = _Session(self._conninfo(), self.limits)
            return self._session.ask(statement, parameters, most, deadline)
        except psycopg.Error as error:
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

    def _translate(self, error: psycopg.Error) -> SourceError:
        why = _first_line(error)
        if error.sqlstate == "53300" or any(words in why for words in _FULL):
            return FullError(self.source, f"has no connection left for {APPLICATION}: {why}")
        if error.sqlstate == "57014":
            return self._late()
        lost = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
        if lost and (error.sqlstate is None or error.sqlstate[:2] in ("08", "57")):
            return self._connection_error(error)
        return RefusedError(self.source, f"does not answer this: {why}")

    def _connection_error(self, error: Exception) -> SourceError:
        if isinstance(error, LateError):
            return self._late()
        if isinstance(error, TooMuchError):
            return SourceError(self.source, f"answered with more than {self.limits.bytes / 1e6:g} MB; ask for less")
        why = _first_line(error)
        return LostError(self.source, f"cannot be reached at {self.place}: {why}; is it running, and is its url right?")

    def _late(self) -> SourceError:
        return SourceError(self.source, f"{self.place} gave no answer within {self.limits.seconds:g} s; is it overloaded?")

    def _conninfo(self) -> str:
        if not self._url:
            raise SourceError(
                self.source, "no address is set for it; give its backend a url, as postgresql://USER:PASSWORD@HOST/DATABASE"
            )
        try:
            given = conninfo_to_dict(self._url)
        except psycopg.Error:
            raise SourceError(self.source, _WRONG_URL) from None
        longest = max(1, int(self.limits.seconds * 1000))
        ours = f"-c default_transaction_read_only=on -c statement_timeout={longest} -c lock_timeout={longest}"
        given |= {"options": f"{given.get('options') or ''} {ours}".strip(), "application_name": APPLICATION}
        return make_conninfo("", **{"connect_timeout": _SHORTEST_CONNECT_S, **given, "client_encoding": "UTF8"})


class _Session:
    """One connection, made when it is first needed, and the thread that uses it."""

    def __init__(self, conninfo: str, limits: Limits) -> None:
        self._conninfo = conninfo
        self._limits = limits
        self._calls = BoundedCalls("postgres")
        self._connection: _Guarded | None = None

    def ask(self, statement: sql.Composed, parameters: Mapping[str, str], most: int, deadline: float) -> StatementRows:
        """Raises what ``psycopg`` raises, ``LateError`` and ``TooMuchError``."""
        bounded = sql.SQL("SELECT /* {} */ * FROM (\n{}\n) AS answer LIMIT {}").format(
            sql.SQL(APPLICATION), statement, sql.Literal(most + 1)
        )
        values = {name: storable(value) for name, value in parameters.items()}
        return self._calls.call(lambda: self._answer(bounded, values, most), deadline)

    def end(self) -> None:
        """Cut the connection."""
        self._calls.end(self._close)

    def _answer(self, statement: sql.Composed, parameters: Mapping[str, str], most: int) -> StatementRows:
        connection = self._connected()
        connection.may_receive(2 * self._limits.bytes + OVERHEAD)
        found: list[tuple[Cell, ...]] = []
        size = 0
        try:
            with connection.cursor() as cursor:
                for row in cursor.stream(statement, parameters):  # always sent as one statement only, whatever it holds
                    found.append(tuple(_cell(value) for value in row))
                    size += sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
                    if size > self._limits.bytes or len(found) > most + 1:
                        connection.close()  # before the cursor tries to read the rest
                        raise TooMuchError
                names = tuple(c.name for c in cursor.description or ())
        finally:
            if not connection.closed:
                connection.rollback()
        return StatementRows(names, tuple(found[:most]), len(found) > most)

    def _connected(self) -> _Guarded:
        if self._connection is None or self._connection.closed:
            connection = _Guarded.connect(self._conninfo)
            connection.read_only = True
            connection.prepare_threshold = None  # a pooler on the way may not keep prepared statements
            self._connection = connection
            self._calls.uses(socket.socket(fileno=os.dup(connection.fileno())))
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()


class _Guarded(psycopg.Connection[Any]):
    """A connection that stops reading where the limit is: the library reads one value whole, however large it is."""

    _end = OVERHEAD

    def may_receive(self, most: int) -> None:
        """As many bytes from now on; then ``TooMuchError``."""
        self._end = received(self.fileno()) + most

    @classmethod
    def _connect_gen(cls, conninfo: str = "") -> Any:
        """As the library's, but for the end: a server may flood before it has greeted."""
        steps, answer = super()._connect_gen(conninfo), None
        while True:
            try:
                wanted = steps.send(answer)  # type: ignore[arg-type]  # None begins
            except StopIteration as end:
                return end.value
            if received(wanted[0]) > OVERHEAD:
                raise TooMuchError
            answer = yield wanted

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        """As the library's, but for the end."""
        return super().wait(self._until_end(gen), *args, **options)

    def _until_end(self, gen: Any) -> Any:
        answer = None
        while True:
            try:
                wanted = gen.send(answer)
            except StopIteration as end:
                return end.value
            if not self.closed and received(self.fileno()) > self._end:
                self.close()
                raise TooMuchError
            answer = yield wanted


def _place(url: str) -> str:
    """Its address without the password."""
    try:
        given = conninfo_to_dict(url)
    except psycopg.Error:
        return "its url"
    return f"{given.get('host') or 'localhost'}:{given.get('port') or 5432}/{given.get('dbname') or ''}"


def _cell(value: object) -> Cell:
    if isinstance(value, Decimal):
        return float(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)[:_CELL_CHARS]


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:300] if lines else type(error).__name__
