"""Probes one container: from outside as an operator would, and from its own network as its peers and resolver answer it."""

from __future__ import annotations

import secrets
import socket
import struct
import time
from dataclasses import dataclass

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms.namespace import network_of
from revelio.errors import FaultError

_GREETINGS = {
    "postgres": (5432, bytes.fromhex("0000000804d2162f")),
    "redis": (6379, b"PING\r\n"),
}
"""Port and first words: PostgreSQL's request for TLS, Redis' PING; both are answered before any log-in."""

EVERY_S = 0.2
"""Seconds between two probes that look for a delayed answer."""

RESOLVER = ("127.0.0.11", 53)
"""The engine's own name server, as every container of a user-defined network finds it."""


def greeting(app: App, place: str) -> tuple[int, bytes]:
    """The port of ``place`` and the words that it answers at once."""
    return _GREETINGS.get(place, (app.service_port, b"GET /healthz HTTP/1.0\r\nHost: check\r\n\r\n"))


def answers(app: App, place: str, engine: Engine, seconds: float) -> float | None:
    """Seconds until ``place`` answered its first byte; None when it did not within ``seconds``."""
    started = time.monotonic()
    try:
        return time.monotonic() - started if reply(app, place, engine, greeting(app, place)[1], seconds) else None
    except OSError:
        return None


def longest_wait(app: App, place: str, engine: Engine, patience: float, looks_s: float) -> float:
    """The longest wait for an answer of ``place``, probed repeatedly for ``looks_s``; at most ``patience``."""
    longest, began = 0.0, time.monotonic()
    while time.monotonic() < began + looks_s:
        waited = answers(app, place, engine, seconds=patience)
        longest = max(longest, patience if waited is None else waited)
        time.sleep(min(EVERY_S, looks_s))
    return longest


def reply(app: App, place: str, engine: Engine, words: bytes, seconds: float) -> bytes:
    """The first bytes with which ``place`` answers some words; none when it closes the connection. Raises ``OSError``."""
    with socket.create_connection((engine.address(place), greeting(app, place)[0]), timeout=seconds) as connection:
        connection.settimeout(seconds)
        connection.sendall(words)
        return connection.recv(200)


def must_run(place: str, engine: Engine) -> None:
    """``FaultError`` unless the container runs: a fault in what is down already would show nothing."""
    state = engine.state(place)
    if state != "running":
        raise FaultError(f"{place} is {state}, not running; bring the stack up, or undo what was done to it first")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one call ended: whether it was answered, after how many seconds, and what there was instead."""

    answered: bool
    seconds: float
    words: str


def call(app: App, caller: str, callee: str, engine: Engine, seconds: float) -> Outcome:
    """Connect from ``caller``'s network to ``callee`` and wait for its first byte, ``seconds`` at most in all."""
    port, words = greeting(app, callee)
    connection = _socket(engine, caller, socket.SOCK_STREAM)
    started = time.monotonic()
    with connection:
        try:
            connection.settimeout(seconds)
            connection.connect((engine.address(callee), port))
            connection.settimeout(max(0.05, seconds - (time.monotonic() - started)))
            connection.sendall(words)
            answered = bool(connection.recv(1))
            return _outcome(answered, started, "answered" if answered else "closed without an answer")
        except TimeoutError:
            return _outcome(False, started, "no answer")
        except OSError as error:
            return _outcome(False, started, error.strerror or type(error).__name__)


def look_up(service: str, name: str, engine: Engine, seconds: float) -> Outcome:
    """Ask the resolver once for an address of ``name``, from ``service``'s network."""
    asked = _socket(engine, service, socket.SOCK_DGRAM)
    number = secrets.token_bytes(2)
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    question = number + struct.pack("!5H", 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!2H", 1, 1)
    started = time.monotonic()
    with asked:
        try:
            asked.settimeout(seconds)
            asked.connect(RESOLVER)
            asked.send(question)
            answer = asked.recv(512)
        except TimeoutError:
            return _outcome(False, started, "no answer")
        except OSError as error:
            return _outcome(False, started, error.strerror or type(error).__name__)
    code, found = answer[3] & 0x0F, struct.unpack("!H", answer[6:8])[0]
    good = answer[:2] == number and code == 0 and found > 0
    return _outcome(good, started, "answered" if good else f"answered with code {code} and {found} addresses")


def _socket(engine: Engine, service: str, kind: socket.SocketKind) -> socket.socket:
    with network_of(engine.pid(service)):
        try:
            return socket.socket(socket.AF_INET, kind)
        except OSError as error:
            raise FaultError(f"no socket in the network of {service}: {error}") from error


def _outcome(answered: bool, started: float, words: str) -> Outcome:
    return Outcome(answered, time.monotonic() - started, words)
