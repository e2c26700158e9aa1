"""Measurements from outside that show what a new version does: visits, its own metrics, the database's and the engine's."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import Counter
from collections.abc import Awaitable

import psycopg

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms.deploy import VERSION
from fault_injection.mechanisms.service_metrics import metrics, requests_served
from fault_injection.spec import Effect
from revelio.errors import FaultError
from testbed.users.notes import Visit
from testbed.users.probes import visit
from testbed.users.walks import walk_of

PATIENCE_S = 4.0
"""A visit must be over by then."""
VISITS = 2
"""Visits to a feature in one look."""
WATCHED_S = 3.0
"""So long is watched whether memory grows."""
GOOD = ("ok", "slow")
_CALLS = re.compile(r'^http_client_request_duration_seconds_count\{.*server_address="([^"]*)".*\} (\S+)$', re.MULTILINE)
_VERSION = re.compile(r'^app_build_info\{version="([^"]*)"\} 1\.0$', re.MULTILINE)
_DEPTH = re.compile(r'^messaging_queue_depth\{queue="([^"]*)"\} (\S+)$', re.MULTILINE)
_STATEMENTS = (
    "SELECT queryid::text, sum(calls) FROM pg_stat_statements(false) JOIN pg_database AS d ON d.oid = dbid"
    " WHERE d.datname = current_database() AND queryid IS NOT NULL GROUP BY 1"
)
_OBSERVER = "observer"


def running_version(app: App, place: str, engine: Engine) -> Effect:
    """Whether the version that was put into the container is the one that runs."""
    put = engine.read_file(place, VERSION).content.decode().strip()
    try:
        runs = _VERSION.findall(metrics(app, place, engine))
    except FaultError as error:
        return Effect(False, str(error))
    return Effect(runs == [put], f"version {', '.join(runs)} runs")


def goes_wrong(app: App, features: tuple[str, ...]) -> Effect:
    """Visits to features as users make them: one ends in an error, or shows what is wrong, or does not come to its end."""
    seen = [note for note in asyncio.run(_visits(app, features)) if note is not None]
    wrong = [note for note in seen if note.outcome not in GOOD]
    if not wrong:
        return Effect(False, f"{', '.join(note.feature for note in seen) or 'nothing'} went well")
    return Effect(True, f"a visit to {wrong[0].feature}: {wrong[0].outcome} {wrong[0].status or ''}".rstrip())


def takes_cpu(app: App, place: str, engine: Engine, features: tuple[str, ...], seconds: float) -> Effect:
    """CPU time of the container for each request that it serves, while a client visits."""
    before, served_before = engine.cpu_usage(place), requests_served(app, place, engine)
    asyncio.run(_visits(app, features))
    after, served = engine.cpu_usage(place), requests_served(app, place, engine) - served_before
    each = (after.used_s - before.used_s) / max(served, 1.0)
    return Effect(each >= seconds, f"{each * 1000:.0f} ms of CPU time for each of {served:.0f} requests")


def repeats_itself(
    app: App, place: str, engine: Engine, features: tuple[str, ...], route: str, statements: float, calls: float
) -> Effect:
    """One statement far more often than clients ask for ``route``, or calls to one other service than requests come.

    A client visits meanwhile. Requests for other pages run other statements, so they do not count against one.
    """
    asked, called, served = _asked(app, engine), _called(app, place, engine), requests_served(app, place, engine)
    there = requests_served(app, place, engine, route=route)
    asyncio.run(_visits(app, features))
    most_asked = max((_asked(app, engine) - asked).values(), default=0)
    most_called = max((_called(app, place, engine) - called).values(), default=0)
    served = max(1.0, requests_served(app, place, engine) - served)
    # Where pages take long, hardly one is served yet: those just asked for count too.
    there = max(VISITS * len(features), requests_served(app, place, engine, route=route) - there)
    return Effect(
        most_asked / there >= statements or most_called / served >= calls,
        f"one statement ran {most_asked} times for {there:.0f} requests to {route or 'any page'},"
        f" and one service was called {most_called} times for {served:.0f} requests",
    )


def grows(app: App, place: str, engine: Engine, features: tuple[str, ...], byte_count: float) -> Effect:
    """Memory of the container before and after some seconds of visits; or it ran out, and the engine started it again."""
    restarts, before, end = engine.restarts(place), engine.memory_used(place), time.monotonic() + WATCHED_S
    while time.monotonic() < end:
        asyncio.run(_visits(app, features))
    after = engine.memory_used(place)
    again = engine.restarts(place) - restarts
    figures = f"{before / 2**20:.0f} MiB in use, {after / 2**20:.0f} MiB {WATCHED_S:.0f} s later, started again {again} times"
    return Effect(after - before >= byte_count or again > 0, figures)


def queue_grows(app: App, place: str, engine: Engine, features: tuple[str, ...], depth: float) -> Effect:
    """Messages that wait, as the worker counts them."""
    asyncio.run(_visits(app, features))
    waiting = {name: float(count) for name, count in _DEPTH.findall(metrics(app, place, engine))}
    name = max(waiting, key=lambda queue: waiting[queue], default="")
    return Effect(waiting.get(name, 0.0) >= depth, f"{waiting.get(name, 0.0):.0f} messages wait in {name or 'no queue'}")


async def _visits(app: App, features: tuple[str, ...]) -> list[Visit | None]:
    """The second of two visits to each feature by one person each, or the first one if it was not over in time.

    On the first one, callers may still find connections that ended with the version before, and caches are empty.
    """
    walk = walk_of(app.name)

    async def second(feature: str) -> Visit | None:
        user = walk.visitor(app.address, secrets.randbelow(len(walk.features)))
        try:
            note = await _in_time(feature, visit(feature, walk.features[feature], user))
            if note is None or note.outcome != "timeout":
                note = await _in_time(feature, visit(feature, walk.features[feature], user))
        finally:
            await user.client.aclose()
        return note

    return list(await asyncio.gather(*map(second, features)))


async def _in_time(feature: str, visited: Awaitable[Visit | None]) -> Visit | None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await visited
    except TimeoutError:
        return Visit(time.time() - PATIENCE_S, feature, "timeout", PATIENCE_S)


def _called(app: App, place: str, engine: Engine) -> Counter[str]:
    """How often a service called each other one since its start, as it counts."""
    calls: Counter[str] = Counter()
    for peer, count in _CALLS.findall(metrics(app, place, engine)):
        calls[peer] += int(float(count))
    return calls


def _asked(app: App, engine: Engine) -> Counter[str]:
    """How often each statement ran, as the database counts; ``FaultError`` when it does not say."""
    try:
        with psycopg.connect(
            host=engine.address("postgres"), user=_OBSERVER, password=_OBSERVER, dbname=app.name, connect_timeout=2
        ) as connection:
            return Counter({str(name): int(count) for name, count in connection.execute(_STATEMENTS).fetchall()})
    except psycopg.Error as error:
        raise FaultError(f"postgres does not say which statements ran: {error}") from error
