"""A capture that a container keeps, read by a command run in there through the Docker Engine API."""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import socket
import time
from collections.abc import Generator, Sequence
from typing import Any, cast
from urllib.parse import quote

from revelio.errors import SourceError
from revelio.tools.base import Limits
from revelio.tools.bounded_call import LateError
from revelio.tools.tcpdump.filter import shell

READER = "packets"
"""The command in the container: ``packets START END [tshark options]``."""

SOCKET = "/var/run/docker.sock"
_SAID = 2_000
_PIECE = 65_536
_STDOUT, _STDERR = 1, 2


class ContainerCapture:
    """Runs ``packets`` in one container, which ends it by itself when the time is up."""

    def __init__(self, source: str, container: str, host: str, limits: Limits) -> None:
        """``host`` is the engine's ``name:port``; its socket on this machine when empty. Connects to nothing yet."""
        self.source = source
        self.limits = limits
        self.place = f"container {container}"
        self._container = container
        self._host = host

    def version(self, deadline: float) -> str:
        """tshark's in the container."""
        words = b"".join(self._run(["tshark", "--version"], deadline)).decode(errors="replace").splitlines()
        return words[0].split(" (Git")[0][:80] if words else "tshark of unknown version"

    def output(self, start: float, end: float, options: Sequence[str], deadline: float) -> Generator[bytes, None, None]:
        """Its standard output in pieces."""
        return self._run([READER, f"{start:.3f}", f"{end:.3f}", *options], deadline)

    def command(self, start: float, end: float, options: Sequence[str]) -> str:
        """By ``docker exec``."""
        return shell(["docker", "exec", self._container, READER, f"{start:.3f}", f"{end:.3f}", *options])

    def _run(self, command: Sequence[str], deadline: float) -> Generator[bytes, None, None]:
        # Nobody could end a command in there from here, so its own end is part of it.
        seconds = max(0.1, deadline - time.monotonic())
        bounded = ["timeout", "-k", "1", f"{seconds:.1f}", *command]
        asked = {"AttachStdout": True, "AttachStderr": True, "Cmd": bounded}
        made = self._asked("POST", f"/containers/{quote(self._container, safe='')}/exec", asked, deadline)
        identity = quote(str(made.get("Id", "")), safe="")
        if not identity:
            raise self._odd()
        said = bytearray()
        yield from self._attached(identity, said, deadline)
        code = self._asked("GET", f"/exec/{identity}/json", None, deadline).get("ExitCode")
        if code == 124:
            raise LateError
        if code not in (0, None):
            raise SourceError(self.source, failure(bytes(said), f"{command[0]} in {self.place} ended with code {code}"))

    def _attached(self, identity: str, said: bytearray, deadline: float) -> Generator[bytes, None, None]:
        with contextlib.ExitStack() as ending:
            exchange = _Exchange(self, deadline)
            ending.callback(exchange.end)
            response = exchange.ask("POST", f"/exec/{identity}/start", {"Detach": False, "Tty": False})
            if response.status != http.client.OK:
                raise self._refused(response.status, exchange.piece(response))
            stream, left, rest = 0, 0, b""
            while piece := exchange.piece(response):
                rest += piece
                while rest:
                    if not left:
                        if len(rest) < 8:
                            break
                        stream, left, rest = rest[0], int.from_bytes(rest[4:8], "big"), rest[8:]
                        if stream not in (0, _STDOUT, _STDERR):
                            raise self._odd()
                        continue
                    taken, rest = rest[:left], rest[left:]
                    left -= len(taken)
                    if stream == _STDOUT:
                        yield taken
                    else:
                        said += taken[: max(0, _SAID - len(said))]

    def _asked(self, method: str, path: str, body: object, deadline: float) -> dict[str, Any]:
        with contextlib.ExitStack() as ending:
            exchange = _Exchange(self, deadline)
            ending.callback(exchange.end)
            response = exchange.ask(method, path, body)
            text = b""
            while len(text) < 100_000 and (piece := exchange.piece(response)):
                text += piece
        if response.status not in (http.client.OK, http.client.CREATED):
            raise self._refused(response.status, text)
        try:
            told = json.loads(text)
        except ValueError as error:
            raise self._odd() from error
        if not isinstance(told, dict):
            raise self._odd()
        return told

    def _refused(self, status: int, text: bytes) -> SourceError:
        if status == http.client.NOT_FOUND:
            return SourceError(self.source, f"there is no {self.place}; is its url right, and does it run?")
        return SourceError(self.source, failure(text, f"the container engine answered {status}"))

    def _odd(self) -> SourceError:
        return SourceError(self.source, f"{self._host or SOCKET} does not answer like a container engine; is its url right?")

    def connect(self, timeout: float) -> socket.socket:
        """A connection to the engine; ``OSError`` when there is none."""
        if self._host:
            name, _, port = self._host.rpartition(":")
            if not name or not port.isdigit():
                raise OSError("docker://HOST:PORT/CONTAINER is needed")
            return socket.create_connection((name.strip("[]"), int(port)), timeout)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(timeout)
        try:
            connection.connect(SOCKET)
        except OSError:
            connection.close()
            raise
        return connection

    def unreachable(self, error: Exception) -> SourceError:
        """For a failed exchange."""
        where = self._host or SOCKET
        return SourceError(
            self.source,
            f"cannot be reached at {where}: {error or type(error).__name__}; is the engine up, and may this user ask it?",
        )


class _Exchange(io.RawIOBase):
    """One request to the engine; no step of it, down to a single byte, waits longer than until the deadline."""

    def __init__(self, capture: ContainerCapture, deadline: float) -> None:
        """Connects to nothing yet."""
        self._capture = capture
        self._deadline = deadline
        self._socket: socket.socket | None = None

    def ask(self, method: str, path: str, body: object) -> http.client.HTTPResponse:
        """The answer's head; what follows is to be read by ``piece``."""
        connection = http.client.HTTPConnection("localhost")
        try:
            self._socket = self._capture.connect(self._left())
            connection.sock = cast(socket.socket, self)
            connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
            return connection.getresponse()
        except TimeoutError as error:
            raise LateError from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._capture.unreachable(error) from error

    def piece(self, response: http.client.HTTPResponse) -> bytes:
        """What has come of the body since; nothing at its end."""
        try:
            return response.read1(_PIECE)
        except TimeoutError as error:
            raise LateError from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._capture.unreachable(error) from error

    # What http.client wants of a socket.

    def sendall(self, data: bytes) -> None:
        """Send a part of the request."""
        self._now().sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        """To read the answer from."""
        return io.BufferedReader(self)

    def close(self) -> None:
        """Nothing: http.client closes its connection as soon as it has seen the answer's head."""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """As the operating system gives it."""
        return self._now().recv_into(buffer)

    def end(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()

    def _now(self) -> socket.socket:
        if self._socket is None:
            raise OSError("there is no connection")
        self._socket.settimeout(self._left())
        return self._socket

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def failure(said: bytes, otherwise: str) -> str:
    """The last line that a program wrote before it failed, which tells why; ``otherwise`` when it wrote none."""
    words = [line.strip() for line in said.decode("utf-8", errors="replace").splitlines() if line.strip()]
    return f"{otherwise}: {words[-1][:300]}" if words else otherwise
