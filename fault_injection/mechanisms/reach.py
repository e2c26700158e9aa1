"""Asks one container for an answer, as an operator would: does it speak, and how long does that take?"""

from __future__ import annotations

import re
import socket
import time

import httpx

from fault_injection.apps import App
from fault_injection.engine import Engine
from revelio.errors import FaultError

_GREETINGS = {
    "postgres": (5432, bytes.fromhex("0000000804d2162f")),
    "redis": (6379, b"PING\r\n"),
}
"""Port and first words: PostgreSQL's request for TLS, Redis' PING; both are answered before any log-in."""

EVERY_S = 0.2
"""How often somebody asks who looks for an answer that waits."""


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
    """The longest that ``place`` kept somebody waiting who asked again and again for ``looks_s``; at most ``patience``."""
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


def requests_served(app: App, service: str, engine: Engine, status: str = "", route: str = "") -> float:
    """Requests that a service counted since its start: all, or those whose status begins with ``status``, or of one ``route``.

    Raises ``FaultError`` when its metrics page does not answer.
    """
    found = re.findall(r"^http_server_request_duration_seconds_count\{(.*)\} (\S+)$", metrics(app, service, engine), re.MULTILINE)
    wanted = (f'http_response_status_code="{status}', f'http_route="{route}"' if route else "")
    return sum(float(value) for labels, value in found if all(label in labels for label in wanted))


def messages_failed(app: App, service: str, engine: Engine) -> float:
    """Messages that a service counted as failed since its start; ``FaultError`` when its metrics page does not answer."""
    found = re.findall(r"^messaging_process_duration_seconds_count\{(.*)\} (\S+)$", metrics(app, service, engine), re.MULTILINE)
    return sum(float(value) for labels, value in found if 'outcome="done"' not in labels)


def metrics(app: App, service: str, engine: Engine) -> str:
    """What a service's metrics page says now; ``FaultError`` when it does not answer."""
    address = f"http://{engine.address(service)}:{app.service_port}/metrics"
    try:
        return httpx.get(address, timeout=3.0, follow_redirects=True).raise_for_status().text
    except httpx.HTTPError as error:
        raise FaultError(f"{service} does not show its metrics: {error}") from error
