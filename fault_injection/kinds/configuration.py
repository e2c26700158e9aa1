"""Faults of configuration: a service is rolled out with a wrong setting."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar
from urllib.parse import urlsplit, urlunsplit

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.mechanisms.probe import answers, must_run
from fault_injection.spec import Category, Change, Effect, Fault, FaultKind
from fault_injection.steps import configure_step
from revelio.errors import FaultError

STORE_SETTINGS = {"DATABASE_URL": "postgres", "REDIS_URL": "redis"}


class Misconfigured(FaultKind):
    """A setting of a service is changed, and the service rolled out with it."""

    category: ClassVar[Category] = "configuration"
    mechanism = "new_settings"
    settle_s = 30.0
    counts_once_settled = True
    starts: ClassVar[bool] = True
    """Whether the service comes up with that setting."""

    @abstractmethod
    def settings(self, fault: Fault, environment: dict[str, str]) -> dict[str, str]:
        """The variables to change, given those that are set now. Raises ``FaultError`` when the service lacks the setting."""

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """Roll out with the changed variables; roll out as the files have it."""
        must_run(fault.place, engine)
        changed = self.settings(fault, engine.environment(fault.place))
        return Change(
            do=(configure_step(fault.place, changed),),
            undo=(configure_step(fault.place, {}),),
            parameters=tuple(sorted(changed.items())),
        )

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The container that runs now was given the changed setting, and has come up with it, or cannot."""
        environment = engine.environment(fault.place)
        wanted = self.settings(fault, environment)
        given = {name: environment.get(name, "") for name in wanted}
        figures = ", ".join(f"{name}={value}" for name, value in given.items())
        if given != wanted:
            return Effect(False, f"{fault.place} still runs with {figures}")
        restarts, state = engine.restarts(fault.place), engine.state(fault.place)
        up = state == "running" and answers(app, fault.place, engine, seconds=1.0) is not None
        words = f"{'answers' if up else 'does not answer'}, started again {restarts} times"
        return Effect(up if self.starts else not up and restarts >= 1, f"{fault.place} runs with {figures}; it {words}")


class WrongDbHost(Misconfigured):
    """The database's address names a host that is not there."""

    name = "wrong_db_host"
    starts = False
    explanation = "The service's database address names a host that does not exist, so it cannot connect."
    strengths: ClassVar = {"whole": {}}
    HOSTS = ("postgres-old", "db-primary", "postgres.internal", "pg-01")

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that uses the database."""
        return app.users_of("postgres")

    def settings(self, fault: Fault, environment: dict[str, str]) -> dict[str, str]:
        """Another host; everything else stays."""
        address = urlsplit(_set(environment, "DATABASE_URL"))
        host = self.HOSTS[fault.variant % len(self.HOSTS)]
        user = address.netloc.rpartition("@")[0]
        return {"DATABASE_URL": urlunsplit(address._replace(netloc=f"{user}@{host}:{address.port or 5432}"))}


class WrongCredentials(Misconfigured):
    """The database refuses the service's password."""

    name = "wrong_credentials"
    starts = False
    explanation = "The service's database password is not the database's, so every new connection is refused."
    strengths: ClassVar = {"whole": {}}
    PASSWORDS = ("changeme", "summer2024", "s3cret", "app")

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that uses the database."""
        return app.users_of("postgres")

    def settings(self, fault: Fault, environment: dict[str, str]) -> dict[str, str]:
        """Another password; everything else stays."""
        address = urlsplit(_set(environment, "DATABASE_URL"))
        password = self.PASSWORDS[fault.variant % len(self.PASSWORDS)]
        netloc = f"{address.username}:{password}@{address.hostname}:{address.port or 5432}"
        return {"DATABASE_URL": urlunsplit(address._replace(netloc=netloc))}


class WrongUpstreamPort(Misconfigured):
    """A peer's address names a port without a listener."""

    name = "wrong_upstream_port"
    explanation = "The service calls one of its peers at a port without a listener: its connections are refused."
    strengths: ClassVar = {"whole": {}}
    PORTS = (8080, 8001, 80, 9000)

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that calls another."""
        return app.callers

    def settings(self, fault: Fault, environment: dict[str, str]) -> dict[str, str]:
        """One of its peers' addresses, another port."""
        peers = sorted(name for name in environment if name.endswith("_URL") and name not in STORE_SETTINGS)
        if not peers:
            raise FaultError(f"{fault.place} has no setting that names a peer")
        name = peers[fault.variant % len(peers)]
        address = urlsplit(environment[name])
        port = self.PORTS[fault.variant % len(self.PORTS)]
        return {name: urlunsplit(address._replace(netloc=f"{address.hostname}:{port}"))}


class Knob(Misconfigured):
    """One variable with a value of each strength."""

    variable: ClassVar[str]

    def settings(self, fault: Fault, environment: dict[str, str]) -> dict[str, str]:
        """The value of this strength."""
        return {self.variable: f"{self.strengths[fault.strength]['value']:g}"}


class TimeoutTooShort(Knob):
    """Calls to peers are given up before the peers can answer."""

    name = "timeout_too_short"
    explanation = "The service gives its calls to peers up before they can answer."
    strengths: ClassVar = {"hard": {"value": 0.004}, "moderate": {"value": 0.012}}
    variable = "PEER_TIMEOUT_SECONDS"

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that calls another."""
        return app.callers


class PoolTooSmall(Knob):
    """A database connection or two for everybody."""

    name = "pool_too_small"
    explanation = "The service may open hardly any database connections, so its requests wait for each other."
    strengths: ClassVar = {"one": {"value": 1}, "two": {"value": 2}}
    variable = "DB_POOL_SIZE"

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that uses the database."""
        return app.users_of("postgres")


class CacheDisabled(Knob):
    """Everything is loaded every time."""

    name = "cache_disabled"
    explanation = "The service's cache is switched off, so that every request loads what it shows."
    strengths: ClassVar = {"whole": {"value": 0}}
    variable = "CACHE_SECONDS"

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that keeps a cache."""
        return app.cachers


class RateLimitTooLow(Knob):
    """More requests are refused than served."""

    name = "rate_limit_too_low"
    explanation = "The service takes far fewer requests in a second than come; the rest is refused with status 429."
    strengths: ClassVar = {"hard": {"value": 0.3}, "moderate": {"value": 1}}
    variable = "RATE_LIMIT_PER_SECOND"

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that is called."""
        return tuple(service for service in app.services if service not in app.workers)


def _set(environment: dict[str, str], name: str) -> str:
    if not environment.get(name):
        raise FaultError(f"the service has no setting {name}")
    return environment[name]
