"""Faults of code: a service rolled out as a new version with a bug in it."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

from fault_injection.apps import App
from fault_injection.engine import Engine
from fault_injection.kinds.code_bugs import Bug, bugs_of
from fault_injection.kinds.code_effects import goes_wrong, grows, queue_grows, repeats_itself, running_version, takes_cpu
from fault_injection.mechanisms.deploy import next_version
from fault_injection.mechanisms.probe import must_run
from fault_injection.mechanisms.service_metrics import messages_failed, requests_served
from fault_injection.spec import Category, Change, Effect, Fault, FaultKind
from fault_injection.steps import files_step
from revelio.errors import FaultError
from testbed.users.walks import walk_of


class BadVersion(FaultKind):
    """A service runs as a new version, whose source has a bug."""

    category: ClassVar[Category] = "code"
    mechanism = "new_version"
    settle_s = 16.0

    def places(self, app: App) -> tuple[str, ...]:
        """Every service that has such a bug written for it."""
        written = {bug.service for bug in bugs_of(app.name, self.name)}
        return tuple(s for s in app.services if s in written)

    def strengths_at(self, app: App, place: str) -> tuple[str, ...]:
        """The strengths that there is a bug of at that place."""
        written = {bug.strength for bug in bugs_of(app.name, self.name) if bug.service == place}
        return tuple(s for s in self.strengths if s in written)

    def change(self, app: App, fault: Fault, engine: Engine) -> Change:
        """A patched file and a new version file, then a restart."""
        must_run(fault.place, engine)
        bug = self.bug(app, fault)
        stored = engine.read_file(fault.place, bug.file)
        version_before, version_after = next_version(engine, fault.place)
        source = stored.content.decode()
        patched = bug.patch(source)
        after = {bug.file: replace(stored, content=patched.encode(), mtime=float(int(time.time())))}
        return Change(
            do=(files_step(engine, fault.place, after | version_after),),
            undo=(files_step(engine, fault.place, {bug.file: stored} | version_before),),
            parameters=(("file", bug.file), ("line", _first_difference(source, patched)), ("feature", bug.feature)),
        )

    def bug(self, app: App, fault: Fault) -> Bug:
        """The one that the fault's variant picks among those of its strength at its place."""
        written = [b for b in bugs_of(app.name, self.name) if (b.service, b.strength) == (fault.place, fault.strength)]
        return written[fault.variant % len(written)]

    def active(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """The new version runs, and does what it does wrong."""
        try:
            runs = running_version(app, fault.place, engine)
            shows = self.shows(app, fault, engine) if runs.confirmed else runs
        except FaultError as error:
            return Effect(False, str(error))
        return Effect(shows.confirmed, f"{runs.figures}; {shows.figures}" if runs.confirmed else runs.figures)

    @abstractmethod
    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """What is seen of it while the new version runs."""

    def features(self, app: App, fault: Fault) -> tuple[str, ...]:
        """What users do where it shows."""
        said = self.bug(app, fault).feature
        return (said,) if said else tuple(walk_of(app.name).features)


class ExceptionOnInput(BadVersion):
    """A new version that raises on some inputs."""

    name = "exception_on_input"
    explanation = "A new version of the service was rolled out, which raises an exception on some of its inputs."
    strengths: ClassVar = {"all": {"least_errors": 3}, "many": {"least_errors": 2}, "some": {"least_errors": 1}}

    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Server errors that the new version counted since it started, and messages that it failed to handle."""
        failed, served = (requests_served(app, fault.place, engine, status) for status in ("5", ""))
        messages = messages_failed(app, fault.place, engine)
        enough = failed + messages >= int(self.strengths[fault.strength]["least_errors"])
        return Effect(enough, f"{failed:.0f} of {served:.0f} requests to it and {messages:.0f} messages failed")


class WrongToUsers(BadVersion):
    """A new version whose mistake users see: what they get is wrong, or they do not get it."""

    strengths: ClassVar = {"always": {}, "sometimes": {}}

    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """One of two visits goes wrong."""
        return goes_wrong(app, self.features(app, fault))


class NegatedCondition(WrongToUsers):
    """A condition that says the opposite of what it should."""

    name = "negated_condition"
    explanation = "A new version of the service was rolled out, in which a condition is the wrong way round."


class ChangedSignature(WrongToUsers):
    """Services that do not understand each other any more."""

    name = "changed_signature"
    explanation = "A new version of the service was rolled out, which sends or expects a field by another name, type or unit."
    strengths: ClassVar = {"renamed": {}, "retyped": {}}


class StaleCache(WrongToUsers):
    """What is shown was right earlier, or for another user."""

    name = "stale_cache"
    explanation = "A new version of the service was rolled out, which keeps values for too long and shows what no longer holds."
    strengths: ClassVar = {"forever": {}, "long": {}}


class WrongRounding(WrongToUsers):
    """Sums that are off by a little."""

    name = "wrong_rounding"
    explanation = "A new version of the service was rolled out, which rounds amounts or counts in the wrong way."


class LostWrite(WrongToUsers):
    """What was said to be done was not."""

    name = "lost_write"
    explanation = "A new version of the service was rolled out, which says that something was written, and does not write it."
    strengths: ClassVar = {"always": {}, "often": {}}


class NPlusOne(BadVersion):
    """Each thing is asked for by itself."""

    name = "n_plus_one"
    explanation = "A new version of the service was rolled out, which asks for each row by itself and not for all at once."
    strengths: ClassVar = {"all": {"statements": 8.0, "calls": 1.5}, "most": {"statements": 8.0, "calls": 1.5}}

    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Statements for each request to the page that it is about, or calls for each request."""
        least = self.strengths[fault.strength]
        features, route = self.features(app, fault), self.bug(app, fault).route
        return repeats_itself(app, fault.place, engine, features, route, float(least["statements"]), float(least["calls"]))


class SlowSerialisation(BadVersion):
    """Answers that are made in a roundabout way."""

    name = "slow_serialisation"
    burdens_host = True
    explanation = "A new version of the service was rolled out, which takes far more CPU time to write out its answers."
    strengths: ClassVar = {"hard": {"cpu_seconds": 0.1}, "moderate": {"cpu_seconds": 0.05}}

    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """CPU time for each request."""
        least = float(self.strengths[fault.strength]["cpu_seconds"])
        return takes_cpu(app, fault.place, engine, self.features(app, fault), least)


class MemoryLeak(BadVersion):
    """Something of each request is kept for good."""

    name = "memory_leak"
    category = "resource"
    explanation = "A new version of the service was rolled out, which keeps something of every request until memory runs out."
    strengths: ClassVar = {"fast": {"mebibytes": 8}, "slow": {"mebibytes": 4}}

    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Memory before and after some visits."""
        least = float(self.strengths[fault.strength]["mebibytes"]) * 2**20
        return grows(app, fault.place, engine, self.features(app, fault), least)


class SlowConsumer(BadVersion):
    """Messages come faster than they are handled."""

    name = "slow_consumer"
    category = "load and queue"
    explanation = "A new version of the queue's worker was rolled out, which takes far too long for each message."
    strengths: ClassVar = {"hard": {"depth": 3}, "moderate": {"depth": 2}}
    settle_s = 25.0

    def shows(self, app: App, fault: Fault, engine: Engine) -> Effect:
        """Messages that wait."""
        least = float(self.strengths[fault.strength]["depth"])
        return queue_grows(app, fault.place, engine, self.features(app, fault), least)


def _first_difference(before: str, after: str) -> int:
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return next((number for number, (old, new) in enumerate(pairs, start=1) if old != new), 0)
