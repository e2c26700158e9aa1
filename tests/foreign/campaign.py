"""Records incidents of one application: ``python -m tests.foreign record wordpress [--part 1/2] [--quick]``.

What is recorded already is left out, so a campaign that was ended goes on where it was.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from pathlib import Path

from revelio.catalog import bundled_catalog
from revelio.settings import SystemSettings
from revelio.systems.incidents.exchange import FaultRecord, Label, Record, read_records, write_records
from revelio.systems.system import System, open_system
from tests.foreign.application import Application
from tests.foreign.exposed import Exposed, exposed
from tests.foreign.faults import Fault
from tests.foreign.machine import Machine
from tests.foreign.recording import Moment, look, note, proven, run_all, said
from tests.foreign.reports import reports
from tests.foreign.users import Seen, Users


@dataclass(frozen=True, slots=True)
class Times:
    """How long things take, in seconds. Faults come ``rest`` and healthy moments ``healthy`` after the fault before.

    Questions are asked once more ``late`` after the first time; never where it is zero.
    """

    warm_up: float
    fault: float
    rest: float
    healthy: float
    late: float


WHOLE = Times(warm_up=780.0, fault=200.0, rest=470.0, healthy=680.0, late=1800.0)
QUICK = Times(warm_up=150.0, fault=150.0, rest=60.0, healthy=0.0, late=0.0)

NO_FAULT = Seen("fine", "", 0.0, None, "nothing was changed")


@dataclass
class Campaign:
    """One application that runs, and where its incidents go."""

    app: Application
    machine: Machine
    users: Users
    system: System
    folder: Path
    times: Times
    started: float
    calm_since: float = 0.0

    def record(self, steps: Sequence[Fault | str]) -> None:
        """Faults, and names of healthy moments, in their order; what is half an hour old is asked once more."""
        for step in steps:
            name = step if isinstance(step, str) else step.name
            if self.path(name).exists():
                continue
            if isinstance(step, Fault):
                self._rest(self.times.rest)
                self.break_it(step)
            else:
                self._rest(self.times.healthy)
                now = time.time()
                seen = self.users.seen(now - 300.0, now)
                if seen.symptom == "fine":
                    self._keep(name, now, look(self.system, now), seen, None)
                else:
                    say(f"{name} is not healthy: {seen.told}")
            self.ask_late()
        if self.times.late:
            last = max((r.opened_at for r in self._own()), default=0.0)
            time.sleep(max(0.0, last + self.times.late + 5.0 - time.time()))
            self.ask_late()

    def path(self, name: str) -> Path:
        """The file of an incident."""
        return self.folder / "incidents" / f"{self.app.name}-{name}.jsonl.xz"

    def break_it(self, fault: Fault) -> None:
        """Inject a fault, look while it lasts, and take it back."""
        began = time.time()
        undo = fault.begin(self.machine)
        self.machine.undo.append(undo)
        try:
            time.sleep(self.times.fault)
            now = time.time()
            seen = self.users.seen(began + 15.0, now)
            bitten = (fault.bites(self.machine) if fault.bites else "") or ("" if seen.symptom == "fine" else seen.told)
            moment = look(self.system, now)
        finally:
            self.machine.undo.remove(undo)
            undo()
            self.calm_since = time.time()
        if bitten:
            told = FaultRecord(fault.kind, fault.kind, fault.place, "", (("seconds", self.times.fault),), bitten)
            self._keep(fault.name, now, moment, seen, (fault, told))
        else:
            say(f"{fault.name} does not bite: {seen.told}")

    def _rest(self, seconds: float) -> None:
        time.sleep(max(0.0, self.calm_since + seconds - time.time()))

    def _keep(self, name: str, now: float, moment: Moment, seen: Seen, fault: tuple[Fault, FaultRecord] | None) -> None:
        ran = run_all(self.system, moment.evidence)
        began = now - self.times.fault
        labels: tuple[Label, ...] = proven(fault[0].causes, moment.evidence, ran.kept, began) if fault else ()
        incident = f"{self.app.name}-{name}"
        notes = tuple(n for n in self.users.notes if now - 300.0 <= n.at < now)[-40:]
        record = Record(
            id=incident,
            system=self.app.name,
            opened_at=now,
            evidence=moment.evidence,
            reports=reports(self.app, incident, seen),
            results=said(ran),
            notes=notes,
            labels=labels,
            fault=fault[1] if fault else None,
            split="foreign" if fault else "foreign_no_fault",
        )
        write_records(self.path(name), [record])
        figures = moment.figures(incident, ran.results)
        note(self.folder, figures)
        right = [f"{x.template}{dict(x.bindings)}" for x in labels if x.proven and x.grade == 3]
        say(f"{incident}: {seen.symptom}, {seen.told}; shown by {right or 'nothing'} of {len(labels)}; {figures}")

    def ask_late(self) -> None:
        """Ask about faults of this run that are old enough, at their time: the evidence is what the backends still know."""
        for record in self._own():
            path = self.path(f"{record.id.removeprefix(f'{self.app.name}-')}-late")
            if not self.times.late or path.exists() or time.time() < record.opened_at + self.times.late:
                continue
            evidence = self.system.snapshot(record.opened_at)
            write_records(path, [replace(record, id=f"{record.id}-late", evidence=evidence, split="foreign_late")])
            say(f"{record.id}: asked {time.time() - record.opened_at:.0f} s late")

    def _own(self) -> list[Record]:
        """Faults that this run recorded."""
        records = [r for p in (self.folder / "incidents").glob(f"{self.app.name}-*.jsonl.xz") for r in read_records(p)]
        return [r for r in records if r.fault and not r.id.endswith("-late") and r.opened_at > self.started]


def steps(
    app: Application, part: int, parts: int, most: int | None = None, names: Sequence[str] | None = None
) -> list[Fault | str]:
    """A part of its faults, or of those that are named; every second of them has a healthy moment before it."""
    faults = [fault for fault in app.faults() if names is None or fault.name in names]
    found: list[Fault | str] = [] if most != 0 else ["healthy-1"]
    healthy = 0
    for number, fault in enumerate(faults[:most]):
        if number % 2 == 0 and healthy < 4:
            healthy += 1
            found.append(f"healthy-{healthy}")
        found.append(fault)
    half = (len(found) + parts - 1) // parts
    return found[(part - 1) * half : part * half]


def relabel(app: Application, folder: Path) -> None:
    """Judge recorded incidents by the faults' causes as they are written now, from the results that were recorded."""
    causes = {f"{app.name}-{fault.name}": fault.causes for fault in app.faults()}
    for path in sorted((folder / "incidents").glob(f"{app.name}-*.jsonl.xz")):
        [record] = read_records(path)
        if record.fault and not record.id.endswith("-late"):
            found = proven(causes.get(record.id, ()), record.evidence, record.results, _began(record))
            later = path.with_name(path.name.replace(".jsonl", "-late.jsonl"))
            for each in (path, *([later] if later.exists() else [])):
                [one] = read_records(each)
                write_records(each, [replace(one, labels=found)])


def _began(record: Record) -> float:
    """When the fault of a record began."""
    lasted = dict(record.fault.parameters).get("seconds", WHOLE.fault) if record.fault else 0.0
    return record.opened_at - float(lasted)


def run(app: Application, machine: Machine, folder: Path, times: Times, wanted: Sequence[Fault | str]) -> Exposed:
    """Bring the application up, let Revelio look around on its own, and record; gives what was there to be found and what was."""
    app.start(machine)
    machine.prometheus()
    url, pages, pause = app.pages()
    users = Users(pages, url, pause)
    users.start()
    began = time.time()
    say(f"{app.name} is up in {machine.folder}")
    time.sleep(times.warm_up)
    mine = machine.folder / "stranger"
    mine.mkdir()
    made = revelio(mine, "init")
    say(made.stdout + made.stderr)
    if made.returncode:
        raise RuntimeError(f"revelio init: {made.stderr}")
    found = exposed(mine, revelio)
    say(f"{app.name}: {found.told}")
    found.keep(folder, app.name)
    settings = tomllib.loads((mine / "revelio.toml").read_text(encoding="utf-8"))["systems"]
    [(name, told)] = settings.items()
    folder = folder.resolve()
    with chdir(mine):  # where profiles are kept: machines side by side have the same addresses
        system = open_system(name, SystemSettings.model_validate(told), bundled_catalog())
        try:
            Campaign(app, machine, users, system, folder, times, began).record(wanted)
        finally:
            users.close()
            system.close()
    return found


def revelio(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line in a folder, without any of our settings."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("REVELIO_")} | {"NO_COLOR": "1", "COLUMNS": "160"}
    command = [sys.executable, "-c", "from revelio.cli import main; main()", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)


def say(text: str) -> None:
    """A line of the log."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)
