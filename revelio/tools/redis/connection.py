"""A connection to Redis that sends commands which only read, and neither waits longer nor takes more than the limits allow."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import redis
from redis.connection import ConnectionPool

from revelio.errors import SourceError
from revelio.support.deadline import end
from revelio.tools.base import Limits
from revelio.tools.bounded_call import OVERHEAD, BoundedCalls, LateError, TooMuchError

Reply = Any
"""What a server answers is looked at where it is read: it may be anything."""

Command = tuple[str, ...]

READS = frozenset(
    {
        *("PING", "INFO", "SLOWLOG GET", "SLOWLOG LEN", "LATENCY HISTORY"),
        *("XLEN", "XINFO GROUPS", "XINFO STREAM", "LLEN", "SCAN", "TYPE"),
    }
)
"""What may be sent. Everything else is refused here, whatever the role is allowed to do."""


class RefusedError(SourceError):
    """The server does not carry out the command."""


class LostError(SourceError):
    """There is no connection to the server, or none any more."""


class Server:
    """Asks one server. Safe to share between threads: they wait for each other within the limit."""

    def __init__(self, source: str, url: str, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.source = source
        self.limits = limits
        self._url = url
        self._session: _Session | None = None
        self._turn = threading.Lock()

    def ask(self, *commands: Command, deadline: float | None = None) -> list[Reply]:
        """The replies, sent and read together, before ``deadline`` (of ``time.monotonic``; by default the limit from now).

        Reconnects when the connection was lost since the last question.
        Raises ``RefusedError`` when the server does not carry one out, and ``SourceError`` for a command that might write, or
        when the server does not answer in time or as Redis does.
        """
        for command in commands:
            self._check(command)
        until = end(self.limits.seconds) if deadline is None else deadline
        if not self._turn.acquire(timeout=max(0.0, until - time.monotonic())):
            raise self._late()
        try:
            used_before = self._session is not None
            try:
                return self._once(commands, until)
            except LostError:
                if not used_before:
                    raise
                return self._once(commands, until)
        finally:
            self._turn.release()

    def close(self) -> None:
        """Close the connection."""
        with self._turn:
            self._give_up()

    def _once(self, commands: Sequence[Command], deadline: float) -> list[Reply]:
        try:
            if self._session is None:
                self._session = _Session(self._pool(), self.limits)
            return self._session.ask(commands, deadline)
        except redis.ResponseError as error:
            self._give_up()  # the replies to the other commands have not been read
            raise RefusedError(self.source, f"does not answer this: {str(error)[:300]}") from error
        except SourceError:
            raise
        except Exception as error:  # a server that lies can make the client library fail in any way
            self._give_up()
            raise self._connection_error(error) from error

    @property
    def place(self) -> str:
        """Its address without the password."""
        try:
            parts = urlsplit(self._url)
            return f"{parts.hostname or parts.path}:{parts.port or 6379}"
        except ValueError:
            return "its url"

    def _check(self, command: Command) -> None:
        words = [word.upper() for word in command[:2]]
        if not words or (words[0] not in READS and " ".join(words) not in READS):
            told = " ".join(words) or "an empty command"
            raise SourceError(self.source, f"{told} is not sent, it might write; there are: {', '.join(sorted(READS))}")

    def _give_up(self) -> None:
        if self._session is not None:
            self._session.end()
            self._session = None

    def _pool(self) -> ConnectionPool:
        if not self._url:
            raise SourceError(self.source, "no address is set for it; give its backend a url, such as redis://host:6379/0")
        seconds = self.limits.seconds
        try:
            return ConnectionPool.from_url(self._url, protocol=2, socket_timeout=seconds, socket_connect_timeout=seconds)
        except ValueError:
            raise SourceError(self.source, "its url cannot be read; it looks like redis://USER:PASSWORD@HOST:6379/0") from None

    def _connection_error(self, error: Exception) -> SourceError:
        if isinstance(error, LateError | redis.TimeoutError):
            return self._late()
        if isinstance(error, TooMuchError):
            return SourceError(self.source, f"answered with more than {self.limits.bytes / 1e6:g} MB; ask for less")
        why = str(error).split("\n", 1)[0][:300] or type(error).__name__
        return LostError(self.source, f"cannot be reached at {self.place}: {why}; is it running, and is its url right?")

    def _late(self) -> SourceError:
        return SourceError(self.source, f"{self.place} gave no answer within {self.limits.seconds:g} s; is it overloaded?")


class _Session:
    """One connection, made when it is first needed, and the thread that uses it."""

    def __init__(self, pool: ConnectionPool, limits: Limits) -> None:
        self._pool = pool
        self._calls = BoundedCalls("redis")
        self._connection: Any = None  # the library's own type tells of no method
        self._most = 2 * limits.bytes + OVERHEAD
        self._metered: _Metered | None = None

    def ask(self, commands: Sequence[Command], deadline: float) -> list[Reply]:
        """Raises what the client library raises, ``LateError`` and ``TooMuchError``."""
        return self._calls.call(lambda: self._answer(commands), deadline)

    def end(self) -> None:
        """Cut the connection."""
        self._calls.end(self._close)

    def _answer(self, commands: Sequence[Command]) -> list[Reply]:
        if self._connection is None:
            self._connection = self._pool.make_connection()
            self._connection.redis_connect_func = self._greet
            self._connection.connect()
        connection = self._connection
        if self._metered is not None:
            self._metered.left = self._most
        encoded = [[word.encode("utf-8", errors="replace") for word in command] for command in commands]
        connection.send_packed_command(connection.pack_commands(encoded))
        return [connection.read_response() for _ in commands]

    def _greet(self, connection: Any) -> None:
        """For the library to call between the network's handshake and its own, which has to keep to the limit as well."""
        self._metered = connection._sock = _Metered(connection._sock, self._most)
        self._calls.uses(connection._sock)
        connection.on_connect()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.disconnect()


class _Metered:
    """A socket that gives ``left`` bytes at most, and ``TooMuchError`` then."""

    def __init__(self, real: socket.socket, left: int) -> None:
        self._real = real
        self.left = left

    def recv(self, size: int) -> bytes:
        data = self._real.recv(max(1, min(size, self.left)))
        self.left -= len(data)
        if self.left < 0:
            raise TooMuchError
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)
