"""Records labelled incidents from real runs: healthy, fault active, users feel it, tools look, undone, recovered.

Each run appears whole or not at all, so a campaign may be killed at any point and resumed.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from fault_injection.campaigns.environment import Environment
from fault_injection.campaigns.health import wait_until_content
from fault_injection.campaigns.host import turn_on_host
from fault_injection.campaigns.judgement import NOT_TOLD_APART, DiscardedRunError, judge
from fault_injection.campaigns.plan import Plan, Run, expand
from fault_injection.campaigns.record import LiveObservation, complete, observe, write
from fault_injection.campaigns.status import DISCARDED, discarded_runs
from fault_injection.inject import Injection, injected, undo
from fault_injection.kinds import kind_named
from fault_injection.labels import Accepted, load_labels
from fault_injection.spec import Fault
from revelio.errors import FaultError, InvalidInputError, SourceError
from revelio.systems.incidents.files import IncidentFiles
from revelio.tools.base import Scope
from revelio.types import Window

RETRIES = 2
"""How often a run is tried again. What its fault did is the same each time: where users or tools did not see it, once."""
ONCE_MORE = ("users did not feel it", "no tool shows its cause", "no matching report", NOT_TOLD_APART)
STACK_TROUBLE = ("not healthy", "a tool did not answer", "recovery failed")
MAX_CONSECUTIVE_DISCARDS = 5
"""A campaign stops after this many runs discarded in a row for trouble with the stack: an operator must look at it first."""
LAG_S = 3.5
"""Traces, log lines and scrapes need this long to arrive before the tools are asked."""
LONGEST_WAIT_S = 90.0
SETTLED_SHARE = 0.6
"""A fault that takes long to settle gets a longer window: users see it settled for this share of the usual one."""
SETTLE_S = 5.0
"""A baseline begins this long after the last fault was undone."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a campaign is. ``seconds_left`` is None until a first run ended."""

    done: int
    total: int
    discarded: int
    run: str
    stage: str
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a campaign came to: incidents recorded in all, discarded attempts, runs given up after their retries."""

    recorded: int
    discarded: int
    given_up: tuple[str, ...]


def run(
    plan: Plan, out: Path, environment: Environment, *, resume: bool = False, progress: Callable[[Progress], None]
) -> Outcome:
    """Make every run of the plan in the stage's application that is not recorded yet.

    Several applications' runs may be made beside each other, each by its own process. Raises ``InvalidInputError``
    when that is done already, or when ``out`` holds a campaign and ``resume`` is not set; ``FaultError`` when an earlier
    fault cannot be undone.
    """
    runs = tuple(r for r in expand(plan) if r.app == environment.app.name)
    with _alone(out, environment.app.name):
        _claim(plan, out, resume)
        undo(environment.app, environment.engine)
        campaign = _Campaign(plan, out, environment, load_labels(), runs, progress)
        campaign.work()
    return Outcome(len(campaign.recorded()), campaign.discarded(), campaign.given_up())


class _Campaign:
    """The loop over the runs, with what it needs to know about time."""

    def __init__(
        self,
        plan: Plan,
        out: Path,
        environment: Environment,
        labels: dict[str, tuple[Accepted, ...]],
        runs: tuple[Run, ...],
        progress: Callable[[Progress], None],
    ) -> None:
        self._plan, self._out, self._environment, self._accepted, self._runs, self._progress = (
            plan,
            out,
            environment,
            labels,
            runs,
            progress,
        )
        self._clean_since = 0.0
        self._since_fresh = 0
        self._took: list[float] = []

    def recorded(self) -> set[str]:
        """Ids of its runs whose incidents are on disk."""
        files = IncidentFiles(self._out / "incidents")
        return {r.id for r in self._runs if all(files.has(f"{incident}.jsonl.xz") for incident in r.incidents)}

    def discarded(self) -> int:
        """Attempts at its runs that came to nothing."""
        return sum(entry.get("app") == self._environment.app.name for entry in discarded_runs(self._out))

    def given_up(self) -> tuple[str, ...]:
        """Runs that were discarded more often than they are retried; trouble with the stack is not held against them."""
        tries: Counter[str] = Counter()
        for entry in discarded_runs(self._out):
            if entry["stage"] not in STACK_TROUBLE:
                tries[entry["run"]] += RETRIES if entry["stage"] in ONCE_MORE else 1
        recorded = self.recorded()
        return tuple(r.id for r in self._runs if tries[r.id] > RETRIES and r.id not in recorded)

    def work(self) -> None:
        """One round over the missing runs, then rounds over the discarded ones until recorded or given up."""
        self._begin_watching()
        in_a_row = 0
        while missing := self._missing():
            for item in missing:
                self._freshen(item)
                started = time.monotonic()
                try:
                    self._attempt(item)
                    in_a_row = 0
                except DiscardedRunError as error:
                    in_a_row = in_a_row + 1 if error.stage in STACK_TROUBLE else 0
                    _append(self._out / DISCARDED, _discarded(item, error))
                    if in_a_row >= MAX_CONSECUTIVE_DISCARDS:
                        raise FaultError(f"{in_a_row} runs in a row came to nothing, the last one: {error}") from error
                    if error.stage in STACK_TROUBLE and in_a_row > 1:
                        self._renew(item)
                self._took.append(time.monotonic() - started)

    def _begin_watching(self) -> None:
        """One look before the first run: of what knows only the present, tools remember a past from their first look on."""
        now, past = time.time(), self._plan.window_s + self._plan.baseline_s
        window, baseline = Window(now - self._plan.window_s, now), Window(now - past, now - self._plan.window_s)
        with suppress(SourceError):  # the first run will tell what is wrong with it
            self._environment.system.snapshot(Scope(self._environment.app.project, window, baseline))
        self._clean_since = time.time()

    def _freshen(self, item: Run) -> None:
        """Restart the stack now and then."""
        if self._plan.fresh_every and self._since_fresh >= self._plan.fresh_every:
            self._renew(item)
        self._since_fresh += 1

    def _renew(self, item: Run) -> None:
        self._tell(item, "restarting the stack")
        with turn_on_host(alone=True):
            self._environment.renew()
        self._since_fresh = 0
        self._clean_since = time.time() + SETTLE_S

    def _missing(self) -> list[Run]:
        done = self.recorded() | set(self.given_up())
        return [r for r in self._runs if r.id not in done]

    def _attempt(self, item: Run) -> None:
        self._tell(item, "waiting until healthy")
        with turn_on_host(alone=any(kind_named(fault.kind).burdens_host for fault in item.faults)):
            noise, injections, live = self._while_active(item)
        self._tell(item, "looking back")
        try:
            seen = complete(live, self._environment)
        except SourceError as error:
            raise DiscardedRunError("a tool did not answer", str(error)) from error
        incidents = judge(item, injections, seen, self._environment, self._accepted)
        write(self._out, item, seen, incidents, self._environment.catalog.digest, noise)

    def _while_active(self, item: Run) -> tuple[list[Injection], list[Injection], LiveObservation]:
        """Everything that takes noise and faults, each fault felt for a whole window before the next; undone by the end."""
        noise: list[Injection] = []
        injections: list[Injection] = []
        try:
            with ExitStack() as stack:
                if item.noise:
                    noise.append(self._inject(item, item.noise, stack, keep=False))
                    self._clean_since = time.time()
                    self._tell(item, "waiting until healthy")
                self._wait_until_content("users felt the noise" if noise else "not healthy")
                for fault in item.faults:
                    injections.append(self._inject(item, fault, stack, keep=bool(noise or injections)))
                    end = self._felt(item, injections[-1])
                live = self._observe(item, injections, end)
                self._tell(item, "undoing")
            return noise, injections, live
        except FaultError as error:
            raise DiscardedRunError("recovery failed", str(error)) from error
        finally:
            self._clean_since = time.time() + SETTLE_S

    def _wait_until_content(self, otherwise: str) -> None:
        content = wait_until_content(self._environment.users, self._plan.baseline_s, self._clean_since, LONGEST_WAIT_S)
        if not content.confirmed:
            raise DiscardedRunError(otherwise, content.figures)

    def _inject(self, item: Run, fault: Fault, stack: ExitStack, *, keep: bool) -> Injection:
        self._tell(item, "injecting")
        try:
            return stack.enter_context(injected(self._environment.app, fault, self._environment.engine, keep=keep))
        except FaultError as error:
            raise DiscardedRunError("fault not verified", str(error), fault) from error

    def _felt(self, item: Run, injection: Injection) -> float:
        """When users have felt a fault for a whole window, to which this waits."""
        end = max(injection.at + self._plan.window_s, injection.settled + SETTLED_SHARE * self._plan.window_s)
        self._tell(item, "users feel it")
        time.sleep(max(0.0, end - time.time()))
        return end

    def _observe(self, item: Run, injections: list[Injection], end: float) -> LiveObservation:
        time.sleep(max(0.0, end + LAG_S - time.time()))
        self._tell(item, "looking")
        first = injections[0]
        baseline = Window(first.began - self._plan.baseline_s, first.began)
        scope = Scope(self._environment.app.project, Window(first.at, end), baseline)
        try:
            return observe(scope, self._environment)
        except SourceError as error:
            raise DiscardedRunError("a tool did not answer", str(error)) from error

    def _tell(self, item: Run, stage: str) -> None:
        missing = len(self._missing())
        left = missing * sum(self._took) / len(self._took) if self._took else None
        self._progress(Progress(len(self.recorded()), len(self._runs), self.discarded(), item.id, stage, left))


def _discarded(item: Run, error: DiscardedRunError) -> dict[str, str | int]:
    """What ``discarded.jsonl`` keeps of a run: the fault that it is about, and what else was there."""
    fault = error.fault or item.fault
    entry = {"run": item.id, "app": item.app, **asdict(fault), "stage": error.stage, "reason": error.reason}
    others = [other for other in (*item.faults, item.noise) if other is not fault and other is not None]
    return entry | ({"beside": ", ".join(f"{other.kind} at {other.place}" for other in others)} if others else {})


def _claim(plan: Plan, out: Path, resume: bool) -> None:
    """Keep the plan beside what is recorded of it. One that was changed since is taken up by resuming."""
    path = out / "plan.json"
    if path.is_file() and not resume:
        raise InvalidInputError(f"{out} holds a campaign already; go on with --resume, or choose another --out")
    content = json.dumps({"digest": plan.digest, "plan": plan.model_dump(mode="json", exclude_defaults=True)}, indent=1)
    temporary = out / f".plan-{os.getpid()}.json"
    temporary.write_text(content + "\n")
    temporary.replace(path)


@contextmanager
def _alone(out: Path, app: str) -> Iterator[None]:
    out.mkdir(parents=True, exist_ok=True)
    with (out / f".lock-{app}").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InvalidInputError(f"a campaign of {app} is running in {out} already") from error
        yield


def _append(path: Path, entry: dict[str, str | int]) -> None:
    torn = path.is_file() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
    with path.open("ab") as file:
        file.write((b"\n" if torn else b"") + json.dumps(entry, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
