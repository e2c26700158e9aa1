"""Noise that comes with a service's own version: what it always does, and what is not the cause of anything."""

from __future__ import annotations

import re
import time
from abc import abstractmethod
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.kinds.code_effects import running_version
from fault_injection.kinds.kit_version import KitVersion
from fault_injection.mechanisms import database
from fault_injection.mechanisms.probe import reply
from fault_injection.spec import Category, Effect, Fault
from revelio.errors import FaultError

SAMPLE_S = 3.0
SERVICE = "/app/kit/service.py"


class NoisyVersion(KitVersion):
    """A version that does something of its own all the time, which no user feels."""

    category: ClassVar[Category] = "noise"
    counts_once_settled: ClassVar[bool] = True
    file: ClassVar[str] = SERVICE

    def places(self, app: App) -> tuple[str, ...]:
        """Every service of ours."""
        return app.services

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """That version runs, and what it does is seen."""
        try:
            runs = running_version(app, fault.place, engine)
            shows = self.shows(app, fault, engine) if runs.confirmed else runs
        except (FaultError, OSError) as error:
            return Effect(False, str(error))
        return Effect(shows.confirmed, f"{runs.figures}; {shows.figures}" if runs.confirmed else runs.figures)

    @abstractmethod
    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """What is seen of it."""


class Writing(NoisyVersion):
    """One that writes something into its log again and again."""

    phrase: ClassVar[str]
    settle_s: ClassVar[float] = 90.0

    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Lines with the phrase among its last ones."""
        found = engine.log(fault.place).count(self.phrase)
        return Effect(found > 0, f"{found} of its last lines say {self.phrase!r}")


class ErrorLog(Writing):
    """A service that always logs errors."""

    name = "error_log"
    explanation = "The service logs an error every few seconds about something optional that has never worked."
    strengths: ClassVar = {"often": {"every_s": 2}, "seldom": {"every_s": 7}}
    function = "run"
    phrase = "usage statistics were not sent"
    statements = """
    import threading

    def send_statistics() -> None:
        while True:
            time.sleep({every_s})
            log.error("usage statistics were not sent: no collector is configured")

    threading.Thread(target=send_statistics, daemon=True).start()
    """


class VerboseLog(Writing):
    """A log level that was changed for a while."""

    name = "verbose_log"
    explanation = "The service's log level was changed, so that it logs every request with its headers."
    strengths: ClassVar = {"headers": {"lines": 3}, "requests": {"lines": 1}}
    function = "Observed.__call__"
    phrase = "handling request"
    statements = """
    if scope["type"] == "http" and scope["path"] not in _UNSEEN:
        log.info("handling request %s %s", scope["method"], scope["path"])
        for name, value in scope["headers"][: {lines} - 1]:
            log.info("request header %s: %d bytes", name.decode(errors="replace"), len(value))
    """

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that is asked something."""
        return tuple(service for service in app.services if service not in app.workers)


class ConfigReload(Writing):
    """Settings that are read again and again."""

    name = "config_reload"
    explanation = "The service reads its settings again every few seconds and says so, though none has changed."
    strengths: ClassVar = {"often": {"every_s": 4}, "seldom": {"every_s": 12}}
    function = "run"
    phrase = "configuration reloaded"
    statements = """
    import threading

    def reload_settings() -> None:
        while True:
            time.sleep({every_s})
            log.warning("configuration reloaded: %d settings, none changed", len(read_settings().environ))

    threading.Thread(target=reload_settings, daemon=True).start()
    """


class RequestRetries(Writing):
    """A first try that is given up early."""

    name = "request_retries"
    explanation = "The service gives the first try of some calls up at once and repeats them, which then go well."
    strengths: ClassVar = {"many": {"every": 4}, "some": {"every": 12}}
    file = "/app/kit/peers.py"
    function = "Peer.get"
    phrase = "retrying GET"
    statements = """
    self._asked = getattr(self, "_asked", 0) + 1
    if self._asked % {every} == 0:
        try:
            return await self._call("GET", path, params=params, timeout=0.001)
        except PeerError as error:
            log.warning("retrying GET %s at %s after: %s", path, self.name, error.reason)
    """

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that calls another."""
        return app.callers


class CanaryRelease(NoisyVersion):
    """A new way through the code for some of the requests, a little slower."""

    name = "canary_release"
    explanation = "A new version sends a share of its requests through new code, which takes a little longer and is right."
    strengths: ClassVar = {"tenth": {"of": 10, "seconds": 0.15}, "third": {"of": 3, "seconds": 0.12}}
    function = "Observed.__call__"
    statements = """
    if scope["type"] == "http" and scope["path"] not in _UNSEEN:
        self.taken = getattr(self, "taken", 0) + 1
        if self.taken % {of} == 0:
            import asyncio

            await asyncio.sleep({seconds})
            log.info("new handling of %s %s", scope["method"], scope["path"])
    """

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that is asked something."""
        return tuple(service for service in app.services if service not in app.workers)

    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Requests that took the new way."""
        found = engine.log(fault.place).count("new handling of")
        return Effect(found > 0, f"{found} of its last lines are about the new way")


class Working(NoisyVersion):
    """One that calculates beside serving."""

    least: ClassVar[float] = 0.04
    """CPUs that it uses at least, which a service that nobody asks does not."""

    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """CPU time that it uses."""
        first = engine.cpu_usage(fault.place)
        time.sleep(SAMPLE_S)
        second = engine.cpu_usage(fault.place)
        used = (second.used_s - first.used_s) / max(second.at - first.at, 1e-6)
        return Effect(used >= self.least, f"uses {used:.2f} CPUs")


class HousekeepingJob(Working):
    """The nightly job, which runs by day."""

    name = "housekeeping_job"
    explanation = "A job inside the service goes through old data and calculates for a part of every second."
    strengths: ClassVar = {"long": {"rounds": 600_000}, "short": {"rounds": 250_000}}
    function = "run"
    statements = """
    import threading

    def tidy_up() -> None:
        while True:
            checked = sum(number % 7 for number in range({rounds}))
            time.sleep(0.5 + checked * 0)

    threading.Thread(target=tidy_up, daemon=True).start()
    """


class CollectionStorm(Working):
    """Garbage collections, within the limits."""

    name = "collection_storm"
    explanation = (
        "The service makes and drops many objects, so that its memory goes up and down and garbage collections are frequent."
    )
    strengths: ClassVar = {"large": {"objects": 120_000}, "small": {"objects": 50_000}}
    function = "run"
    statements = """
    import gc
    import threading

    def keep_recent() -> None:
        while True:
            recent = [[number] for number in range({objects})]
            time.sleep(1.0)
            del recent
            gc.collect()
            time.sleep(1.0)

    threading.Thread(target=keep_recent, daemon=True).start()
    """


class ConnectionChurn(NoisyVersion):
    """Sessions that are opened for one moment."""

    name = "connection_churn"
    explanation = "The service opens a database session for some of its requests and closes it at once."
    strengths: ClassVar = {"many": {"every": 3}, "some": {"every": 9}}
    file = "/app/kit/database.py"
    function = "Database.connection"
    statements = """
    self._asked = getattr(self, "_asked", 0) + 1
    if self._asked % {every} == 0:
        session = await asyncpg.connect(self._url, timeout=4, server_settings={{"application_name": self._service}})
        await session.close()
    """
    LEAST = 2
    """Sessions begun within a look, its own two not counted; a pool begins none."""

    def places(self, app: App) -> tuple[str, ...]:
        """Every service with a pool."""
        return app.users_of("postgres")

    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Sessions that the database has begun meanwhile."""
        first = _sessions(app)
        time.sleep(SAMPLE_S)
        begun = _sessions(app) - first - 1
        return Effect(begun >= self.LEAST, f"{begun} sessions begun in {SAMPLE_S:.0f} s")


class FlappingHealth(NoisyVersion):
    """A health check that fails now and then, while the service serves."""

    name = "flapping_health"
    explanation = "The service's health page answers 503 for some seconds now and then, though the service serves all the time."
    strengths: ClassVar = {"often": {"every_s": 30, "down_s": 12}, "seldom": {"every_s": 60, "down_s": 10}}
    settle_s: ClassVar[float] = 120.0
    function = "_health"
    statements = """
    if time.monotonic() % {every_s} < {down_s}:
        return PlainTextResponse("warming up", 503)
    """

    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """What the health page answers."""
        said = reply(app, fault.place, engine, b"GET /healthz HTTP/1.0\r\nHost: check\r\n\r\n", seconds=2.0)
        status = re.search(rb"^HTTP/1\.\d (\d+)", said)
        found = status[1].decode() if status else "nothing"
        return Effect(found == "503", f"its health page answers {found}")


def _sessions(app: App) -> int:
    """Sessions that the application's database has begun since its statistics were reset."""
    return int(database.ask(app, "SELECT sessions FROM pg_stat_database WHERE datname = current_database()")[0][0])
