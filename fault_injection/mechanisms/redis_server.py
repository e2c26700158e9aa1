"""The application's Redis, as a client with a login sees it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import redis

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms.probe import reply
from revelio.errors import FaultError
from testbed.stack import find_project

PATIENCE_S = 10.0


def connect(app: App) -> redis.Redis:
    """A separate client; connects with its first command. Close it."""
    port = find_project(app.name).ports["redis"]
    return redis.Redis(host="127.0.0.1", port=port, socket_timeout=PATIENCE_S, decode_responses=True)


def settings(app: App, *names: str) -> dict[str, str]:
    """The current settings; ``FaultError`` when it does not answer."""
    with _asked(app, "CONFIG GET") as server:
        return {str(name): str(value) for name, value in server.config_get(*names).items()}


def configure(app: App, changed: dict[str, str]) -> None:
    """Apply settings until it restarts; ``FaultError`` when it refuses."""
    with _asked(app, "CONFIG SET") as server:
        for name, value in changed.items():
            server.config_set(name, value)


def figures(app: App, section: str) -> dict[str, float]:
    """The numbers of a section of INFO; ``FaultError`` when it does not answer."""
    with _asked(app, "INFO") as server:
        found = server.info(section)
        return {name: float(value) for name, value in found.items() if isinstance(value, int | float)}


def calls(app: App, command: str) -> int:
    """How often it has carried out a command since its start; ``FaultError`` when it does not answer."""
    with _asked(app, "INFO") as server:
        return int(server.info("commandstats").get(f"cmdstat_{command}", {}).get("calls", 0))


def refusal(app: App, engine: Engine) -> str:
    """What it answers to a write, or why it says nothing; empty when it takes it."""
    try:
        said = reply(app, "redis", engine, b"SET note 1 EX 1\r\n", seconds=1.0).strip()
    except (FaultError, OSError) as error:
        return str(error) or type(error).__name__
    return "" if said == b"+OK" else f"it said {said.decode(errors='replace')!r} to a write"


def evaluate_again_and_again(app: App, script: str, argument: str, every_s: float, wanted: Callable[[], bool]) -> None:
    """Have it evaluate a script every so many seconds until not wanted; while it does, it answers no other client."""
    with contextlib.closing(connect(app)) as server:
        while wanted():
            began = time.monotonic()
            # It may be gone for a moment, or too busy to answer in time.
            with contextlib.suppress(redis.RedisError):
                server.eval(script, 0, argument)
            while wanted() and (left := began + every_s - time.monotonic()) > 0:
                time.sleep(min(0.1, left))


@contextlib.contextmanager
def _asked(app: App, what: str) -> Iterator[redis.Redis]:
    with contextlib.closing(connect(app)) as server:
        try:
            yield server
        except redis.RedisError as error:
            raise FaultError(f"Redis of {app.name} refuses {what}: {error}") from error
