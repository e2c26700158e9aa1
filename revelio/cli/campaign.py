"""``revelio campaign``: labelled incidents from real runs."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli import campaign_reports as reports_of
from revelio.cli.campaign_reports import Recorded
from revelio.cli.foreign import testbed_errors
from revelio.cli.output import Json, StepBars, console, emit, say
from revelio.errors import InvalidInputError

if TYPE_CHECKING:
    from fault_injection.campaigns.campaign import Outcome, Progress
    from fault_injection.campaigns.environment import Reporters

_ABOUT = """Labelled incidents from real runs on the testbed.

A run injects one fault, lets probe users feel it, takes a snapshot with every tool, undoes it, and runs every possible query.
A query counts as a right answer only where it showed the fault and was normal before.

\b
In this order:
    run PLAN --out DIR          make the runs; stop at any point, --resume continues
    status, templates           what is recorded, which templates were never proven
    check-labels                which kinds no tool shows, which labels are never proven
    relabel                     after a change to labels.yaml: judge the recorded results again
    leakage                     what would give the injector away
    pack                        few large files instead of one for each incident
    freeze                      splits and hashes; refused when anything leaks
    card                        the figures of the dataset's page
    rewrite                     the same runs with reports by other writers
"""

Corpus = Annotated[Path | None, typer.Option("--reports", help="Folder of the report corpus; the bundled one when not given.")]
Writers = Annotated[str, typer.Option("--writers", metavar="W1,W2", help="Only texts by these writers; all when not given.")]


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help=_ABOUT, no_args_is_help=True, rich_markup_mode=None)
    app.command("run")(run)
    app.command("status")(reports_of.status)
    app.command("check-labels")(reports_of.check_labels)
    app.command("templates")(reports_of.templates)
    app.command("leakage")(reports_of.leakage)
    app.command("artefacts", hidden=True, deprecated=True)(reports_of.leakage)
    app.command("relabel")(relabel)
    app.command("pack")(pack)
    app.command("freeze")(freeze)
    app.command("card")(reports_of.card)
    app.command("rewrite")(rewrite)
    return app


def run(
    plan: Annotated[Path, typer.Argument(help="Plan file (YAML).")],
    out: Annotated[Path, typer.Option("--out", help="Folder to record into.")],
    reports: Corpus = None,
    writers: Writers = "",
    apps: Annotated[
        str, typer.Option("--app", metavar="A1,A2", help="Only these applications; all of the plan's when not given.")
    ] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Continue the campaign in --out.")] = False,
    json: Json = False,
) -> None:
    """Make every run of a plan and record its incident. It can be stopped and resumed at any point.

    The applications are started one after the other where they are not up, and then stopped again. Two terminals may make
    the runs of two applications at the same time.

    \b
    Examples:
      revelio campaign run fault_injection/plans/smoke.yaml --out var/smoke
      revelio campaign run fault_injection/plans/three_apps.yaml --out data/three_apps --app forum --resume
    """
    from fault_injection.campaigns.campaign import run as make_runs
    from fault_injection.campaigns.plan import load_plan
    from fault_injection.campaigns.setup import open_environment, running_stack
    from testbed.stack.console import shown

    wanted = load_plan(plan)
    chosen = _chosen(apps, tuple(wanted.apps))
    outcomes: dict[str, Outcome] = {}
    for app in chosen:
        with _ended_by_sigterm(), testbed_errors(), running_stack(app, shown(console(stderr=True))):
            environment = replace(open_environment(app), reporters=_reporters(app, reports, writers))
            with StepBars() as bars:
                outcomes[app] = make_runs(wanted, out, environment, resume=resume or bool(outcomes), progress=_teller(bars))
        if not json:
            done = outcomes[app]
            say(f"{app}: {done.recorded} incidents recorded, {done.discarded} discarded, {len(done.given_up)} runs given up")
    if json:
        emit({app: reports_of.with_earlier_keys(done, {"discarded": "void"}) for app, done in outcomes.items()})
    if any(outcome.given_up for outcome in outcomes.values()):
        raise typer.Exit(1)


def _chosen(wanted: str, planned: tuple[str, ...]) -> tuple[str, ...]:
    apps = _names(wanted) or planned
    strange = [app for app in apps if app not in planned]
    if strange:
        raise InvalidInputError(f"the plan has no runs of {', '.join(strange)}; it has those of {', '.join(planned)}")
    return apps


def relabel(out: Recorded, json: Json = False) -> None:
    """Judge recorded incidents again by the current labels.yaml and catalog, from the recorded results.

    A metric whose noise floor changed in the catalog is rescored from its recorded series. Freeze again afterwards.

    \b
    Examples:
      revelio campaign relabel --out data/three_apps
    """
    from fault_injection.dataset.relabel import relabel as judge
    from revelio.cli.catalog import settings_catalog

    with testbed_errors():
        changed = judge(out, settings_catalog())
    if json:
        emit(changed)
    else:
        say(f"{sum(changed.values())} incidents changed" + "".join(f", {count} {kind}" for kind, count in changed.items()))


def pack(out: Recorded, json: Json = False) -> None:
    """Pack the files of recorded incidents and their results into shards of 50. The incidents and their hashes stay as they are.

    Every command reads packed and single files alike; pack again when there are new ones. Not while a campaign runs in --out.

    \b
    Examples:
      revelio campaign pack --out data/three_apps
    """
    from revelio.systems.incidents.files import IncidentFiles

    packed = {part: IncidentFiles(out / part).pack() for part in ("results", "incidents")}
    if json:
        emit(packed)
    else:
        say(f"{packed['incidents']} incidents and {packed['results']} results were packed in {out}")


def freeze(out: Recorded, json: Json = False) -> None:
    """Freeze the splits: write the manifest with each incident's split and each file's hash. Refused when anything leaks.

    \b
    Examples:
      revelio campaign freeze --out data/three_apps
    """
    from fault_injection.dataset.freeze import freeze as write_manifest

    counts = write_manifest(out)
    if json:
        emit(counts)
    else:
        say(", ".join(f"{count} {split}" for split, count in sorted(counts.items())) + f" frozen in {out}/manifest.json")


def rewrite(
    dataset: Annotated[Path, typer.Option("--dataset", help="Folder of labelled incidents.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write.")],
    apps: Annotated[
        str, typer.Option("--app", metavar="A1,A2", help="Only incidents of these applications; all when not given.")
    ] = "",
    reports: Corpus = None,
    writers: Writers = "",
    json: Json = False,
) -> None:
    """Rewrite the reports of recorded runs with texts by other writers. Nothing else of the runs changes.

    Training writers write for the split `train`, all other writers for the test splits: with `--writers w6,w13` the result
    has no training incidents. Writers of your own corpus (`--reports`) count as test writers.

    \b
    Examples:
      revelio campaign rewrite --dataset data/three_apps --writers w6,w13 --out var/rewritten
    """
    from fault_injection.dataset.rewrite_reports import rewrite_reports, writers_for

    def reporters_of(app: str, split: str) -> Reporters | None:
        allowed = writers_for(split, _names(writers))
        return None if writers and not allowed else _reporters(app, reports, ",".join(allowed))

    with testbed_errors():
        splits = rewrite_reports(dataset, out, reporters_of, apps=_names(apps))
    if json:
        emit({"out": str(out), "splits": splits})
    else:
        say(f"{sum(splits.values())} incidents are in {out}: " + ", ".join(f"{n} {name}" for name, n in splits.items()))


def _reporters(app: str, folder: Path | None, writers: str) -> Reporters:
    from fault_injection.campaigns.setup import CorpusReporters
    from testbed.users.corpus import CORPUS

    return CorpusReporters(app, folder or CORPUS, _names(writers))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM becomes an exception within the block, so that the active fault is undone first."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _teller(bars: StepBars) -> Callable[[Progress], None]:
    """A bar where there is a terminal, else one line for each stage of each run."""

    def tell(p: Progress) -> None:
        left = "" if p.seconds_left is None else f", {p.seconds_left / 60:.0f} min left"
        if bars.shown:
            bars.report("campaign", p.done, p.total, f"{p.run} {p.stage}{left}")
        else:
            say(f"{time.strftime('%H:%M:%S')} {p.done}/{p.total} recorded, {p.discarded} discarded{left}: {p.run} {p.stage}")

    return tell
