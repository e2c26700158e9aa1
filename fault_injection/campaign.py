"""Records labelled incidents from real runs: healthy, fault in force, users feel it, tools look, undone, recovered.

Each run appears whole or not at all, so a campaign may be killed at any point and resumed.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from fault_injection.health import wait_until_content
from fault_injection.inject import Injection, in_force, undo
from fault_injection.kinds import kind_named
from fault_injection.labels import Accepted, load_labels
from fault_injection.plan import Plan, Run, expand
from fault_injection.record import Seen, look, write
from fault_injection.stage import Stage
from fault_injection.tally import void_runs
from revelio.errors import FaultError, InvalidInputError, RevelioError, SourceError
from revelio.tools.base import Scope
from revelio.types import Window

RETRIES = 2
STACK_TROUBLE = ("not healthy", "a tool did not answer", "recovery failed")
MOST_VOID_IN_A_ROW = 5
"""So many void runs for trouble with the stack end the campaign: somebody must look at it first."""
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
    void: int
    run: str
    stage: str
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a campaign came to: incidents recorded in all, void attempts, runs given up after their retries."""

    recorded: int
    void: int
    given_up: tuple[str, ...]


class VoidRunError(RevelioError):
    """A run that came to nothing. ``stage`` says where."""

    def __init__(self, stage: str, reason: str) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage
        self.reason = reason


def run(plan: Plan, out: Path, stage: Stage, *, resume: bool = False, progress: Callable[[Progress], None]) -> Outcome:
    """Make every run of the plan that is not recorded yet.

    Raises ``InvalidInputError`` when ``out`` holds another campaign, or this one and ``resume`` is not set;
    ``FaultError`` when an earlier fault cannot be undone.
    """
    runs = expand(plan)
    with _alone(out):
        _claim(plan, out, resume)
        undo(stage.app, stage.engine)
        campaign = _Campaign(plan, out, stage, load_labels(), runs, progress)
        campaign.work()
    return Outcome(len(campaign.recorded()), len(void_runs(out)), campaign.given_up())


class _Campaign:
    """The loop over the runs, with what it needs to know about time."""

    def __init__(
        self,
        plan: Plan,
        out: Path,
        stage: Stage,
        labels: dict[str, tuple[Accepted, ...]],
        runs: tuple[Run, ...],
        progress: Callable[[Progress], None],
    ) -> None:
        self._plan, self._out, self._stage, self._labels, self._runs, self._progress = plan, out, stage, labels, runs, progress
        self._clean_since = 0.0
        self._took: list[float] = []

    def recorded(self) -> set[str]:
        """Ids of the runs whose incident is on disk."""
        return {p.name.removesuffix(".jsonl.xz") for p in (self._out / "incidents").glob("*.jsonl.xz")}

    def given_up(self) -> tuple[str, ...]:
        """Runs that were void more often than they are retried; trouble with the stack is not held against them."""
        tries = Counter(v["run"] for v in void_runs(self._out) if v["stage"] not in STACK_TROUBLE)
        return tuple(r.id for r in self._runs if tries[r.id] > RETRIES and r.id not in self.recorded())

    def work(self) -> None:
        """One round over the missing runs, then rounds over the void ones until recorded or given up."""
        in_a_row = 0
        while missing := self._missing():
            for item in missing:
                started = time.monotonic()
                try:
                    self._attempt(item)
                    in_a_row = 0
                except VoidRunError as error:
                    in_a_row = in_a_row + 1 if error.stage in STACK_TROUBLE else 0
                    void = {"run": item.id, **asdict(item.fault), "stage": error.stage, "reason": error.reason}
                    _append(self._out / "void.jsonl", void)
                    if in_a_row >= MOST_VOID_IN_A_ROW:
                        raise FaultError(f"{in_a_row} runs in a row came to nothing, the last one: {error}") from error
                self._took.append(time.monotonic() - started)

    def _missing(self) -> list[Run]:
        done = self.recorded() | set(self.given_up())
        return [r for r in self._runs if r.id not in done]

    def _attempt(self, item: Run) -> None:
        self._tell(item, "waiting until healthy")
        content = wait_until_content(self._stage.users, self._plan.baseline_s, self._clean_since, LONGEST_WAIT_S)
        if not content.bites:
            raise VoidRunError("not healthy", content.figures)
        try:
            with ExitStack() as stack:
                self._tell(item, "injecting")
                try:
                    injection = stack.enter_context(in_force(self._stage.app, item.fault, self._stage.engine))
                except FaultError as error:
                    raise VoidRunError("fault not verified", str(error)) from error
                seen = self._observe(item, injection)
                self._tell(item, "undoing")
        except FaultError as error:
            raise VoidRunError("recovery failed", str(error)) from error
        finally:
            self._clean_since = time.time() + SETTLE_S
        self._keep(item, injection, seen)

    def _observe(self, item: Run, injection: Injection) -> Seen:
        end = max(injection.at + self._plan.window_s, injection.settled + SETTLED_SHARE * self._plan.window_s)
        self._tell(item, "users feel it")
        time.sleep(max(0.0, end + LAG_S - time.time()))
        self._tell(item, "looking")
        baseline = Window(injection.began - self._plan.baseline_s, injection.began)
        scope = Scope(self._stage.app.project, Window(injection.at, end), baseline)
        try:
            return look(scope, item.fault.place, self._entries(item), self._stage)
        except SourceError as error:
            raise VoidRunError("a tool did not answer", str(error)) from error

    def _entries(self, item: Run) -> tuple[Accepted, ...]:
        return self._labels.get(item.fault.kind, ())

    def _keep(self, item: Run, injection: Injection, seen: Seen) -> None:
        complaint = self._stage.reporters.complaint(seen.notes, seen.scope.window)
        if kind_named(item.fault.kind).category == "control":
            if complaint:
                raise VoidRunError("users felt a control", complaint)
        elif not complaint:
            raise VoidRunError("users did not feel it", f"{len(seen.notes)} visits noted")
        elif not any(label.proven and label.grade == 3 for label in seen.labels):
            raise VoidRunError("no tool shows its cause", f"{sum(x.proven for x in seen.labels)} labels proven, none of grade 3")
        reports = self._stage.reporters.choose(seen.notes, seen.scope.window, item.split, item.id)
        if not reports:
            raise VoidRunError("nobody would write", f"no text fits {complaint or 'a quiet time'}")
        write(self._out, self._stage.app, item, injection, seen, reports, self._stage.catalog.digest)

    def _tell(self, item: Run, stage: str) -> None:
        missing = len(self._missing())
        left = missing * sum(self._took) / len(self._took) if self._took else None
        self._progress(Progress(len(self.recorded()), len(self._runs), len(void_runs(self._out)), item.id, stage, left))


def _claim(plan: Plan, out: Path, resume: bool) -> None:
    """Bind the folder to the plan, so that a resumed campaign makes the same runs."""
    path = out / "plan.json"
    if path.is_file():
        if json.loads(path.read_text())["digest"] != plan.digest:
            raise InvalidInputError(f"{out} holds a campaign of another plan; choose another --out")
        if not resume:
            raise InvalidInputError(f"{out} holds this campaign already; go on with --resume, or choose another --out")
    path.write_text(json.dumps({"digest": plan.digest, "plan": plan.model_dump(mode="json")}, indent=1) + "\n")


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    out.mkdir(parents=True, exist_ok=True)
    with (out / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InvalidInputError(f"a campaign is running in {out} already") from error
        yield


def _append(path: Path, entry: dict[str, str | int]) -> None:
    torn = path.is_file() and not path.read_bytes().endswith(b"\n") and path.stat().st_size > 0
    with path.open("ab") as file:
        file.write((b"\n" if torn else b"") + json.dumps(entry, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
