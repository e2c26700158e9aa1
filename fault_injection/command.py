"""``python -m fault_injection.campaign``: runs a campaign with its progress on the terminal or, line by line, in a log."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from fault_injection.campaign import Outcome, Progress, run
from fault_injection.opening import open_stage
from fault_injection.plan import Plan, load_plan
from fault_injection.stage import Stage
from revelio.errors import RevelioError
from testbed.users.reports import CORPUS


def main(arguments: list[str] | None = None) -> int:
    """0 when every run was recorded, 1 when some were given up or the campaign stopped; usage errors exit with 2."""
    parser = argparse.ArgumentParser(prog="python -m fault_injection.campaign")
    run_parser = parser.add_subparsers(dest="verb", required=True).add_parser("run", help="record the incidents of a plan")
    run_parser.add_argument("plan", type=Path)
    run_parser.add_argument("--out", type=Path, required=True)
    run_parser.add_argument("--reports", type=Path, default=CORPUS, help="folder of the report corpus")
    run_parser.add_argument("--resume", action="store_true", help="go on with what is in --out")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _end)
    try:
        plan = load_plan(options.plan)
        outcome = _show(plan, options.out, open_stage(plan.app, options.reports), options.resume)
    except RevelioError as error:
        print(f"campaign: {error}", file=sys.stderr)
        return 1
    print(f"{outcome.recorded} incidents recorded, {outcome.void} void attempts, {len(outcome.given_up)} runs given up")
    return 1 if outcome.given_up else 0


def _end(number: int, frame: object) -> None:
    """A request to end becomes an exception, so that the fault in force is undone first."""
    raise SystemExit(128 + number)


def _show(plan: Plan, out: Path, stage: Stage, resume: bool) -> Outcome:
    console = Console()
    if not console.is_terminal:
        return run(plan, out, stage, resume=resume, progress=_log)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[left]}"))
    with Bar(*columns, console=console) as bar:
        task = bar.add_task("starting", left="")

        def tell(p: Progress) -> None:
            bar.update(task, description=f"{p.run} {p.stage}", completed=p.done, total=p.total, left=_left(p))

        return run(plan, out, stage, resume=resume, progress=tell)


def _log(p: Progress) -> None:
    clock = time.strftime("%H:%M:%S")
    print(f"{clock} {p.done}/{p.total} recorded, {p.void} void, {_left(p)}: {p.run} {p.stage}", flush=True)


def _left(p: Progress) -> str:
    return "" if p.seconds_left is None else f"{p.seconds_left / 60:.0f} min left"
