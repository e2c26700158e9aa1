"""``revelio campaign``: labelled incidents from real runs."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.foreign import testbed_errors
from revelio.cli.output import Json, StepBars, emit, say, table
from revelio.errors import InvalidInputError

if TYPE_CHECKING:
    from fault_injection.campaign import Outcome, Progress
    from fault_injection.stage import Reporters

Corpus = Annotated[Path | None, typer.Option("--reports", help="Folder of the report corpus; the bundled one when not given.")]
Writers = Annotated[str, typer.Option("--writers", metavar="W1,W2", help="Only texts by these writers; all when not given.")]
Recorded = Annotated[Path, typer.Option("--out", help="The campaign's folder.")]


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help="Labelled incidents from real runs on the testbed.", no_args_is_help=True, rich_markup_mode=None)
    app.command("run")(run)
    app.command("status")(status)
    app.command("check-labels")(check_labels)
    app.command("templates")(templates)
    app.command("relabel")(relabel)
    app.command("freeze")(freeze)
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
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is in --out.")] = False,
    json: Json = False,
) -> None:
    """Make every run of a plan and record its incident. May be ended and resumed at any point.

    One application after the other is brought up where it is not up yet, and taken down again. Two terminals may make
    the runs of two applications beside each other.

    \b
    Examples:
      revelio campaign run fault_injection/plans/first_light.yaml --out var/first_light
      revelio campaign run fault_injection/plans/three_apps.yaml --out data/three_apps --app forum --resume
    """
    from fault_injection.campaign import run as make_runs
    from fault_injection.opening import brought_up, open_stage
    from fault_injection.plan import load_plan

    signal.signal(signal.SIGTERM, _end)
    wanted = load_plan(plan)
    chosen = _chosen(apps, tuple(wanted.apps))
    outcomes: dict[str, Outcome] = {}
    for app in chosen:
        with testbed_errors(), brought_up(app):
            stage = replace(open_stage(app), reporters=_reporters(app, reports, writers))
            with StepBars() as bars:
                outcomes[app] = make_runs(wanted, out, stage, resume=resume or bool(outcomes), progress=_teller(bars))
        if not json:
            done = outcomes[app]
            say(f"{app}: {done.recorded} incidents recorded, {done.void} void attempts, {len(done.given_up)} runs given up")
    if json:
        emit(outcomes)
    if any(outcome.given_up for outcome in outcomes.values()):
        raise typer.Exit(1)


def _chosen(wanted: str, planned: tuple[str, ...]) -> tuple[str, ...]:
    apps = tuple(app.strip() for app in wanted.split(",") if app.strip()) or planned
    strange = [app for app in apps if app not in planned]
    if strange:
        raise InvalidInputError(f"the plan has no runs of {', '.join(strange)}; it has those of {', '.join(planned)}")
    return apps


def status(out: Recorded, json: Json = False) -> None:
    """Count what a campaign has recorded so far.

    \b
    Examples:
      revelio campaign status --out data/three_apps
    """
    from fault_injection.tally import status as count

    found = count(out)
    if json:
        emit(found)
        return
    say(f"{found.incidents} incidents with {found.reports} reports in {out}")
    for title, counts in (("split", found.by_split), ("kind", found.by_kind), ("place", found.by_place), ("void", found.void)):
        if counts:
            table("", (title, "runs"), sorted(counts.items()), numbers=(1,))


def check_labels(out: Recorded, json: Json = False) -> None:
    """Show how often each kind's cause was shown, and how often each accepted query was proven.

    Proven: executed, with its signal there in the incident and absent before. "shown" counts the runs of a kind in which
    a query of grade 3 was proven, of those recorded and those that are void because no tool shows their cause; under 90 %
    is marked "low". "incidents" counts those with a proven query of a template, of those in which it could be asked about
    the place; none of three or more is marked "never": its template, its signal or its entry in labels.yaml is wrong.

    \b
    Examples:
      revelio campaign check-labels --out data/three_apps
      revelio campaign check-labels --out data/three_apps --json | jq -r '.kinds[] | select(.low) | .kind'
    """
    from fault_injection.label_report import label_report

    found = label_report(out)
    if json:
        emit(found)
        return
    labels = [
        (x.kind, x.template, x.grade, f"{x.incidents}/{x.of}", _percent(x.share), "never" if x.never else "", x.in_baseline)
        for x in found.labels
    ]
    table("", ("kind", "template", "grade", "incidents", "", "", "also in baseline"), labels, numbers=(2, 3, 4, 6))
    kinds = [(x.kind, f"{x.shown}/{x.runs}", _percent(x.share), "low" if x.low else "", x.unexplained or "") for x in found.kinds]
    table("", ("kind", "shown", "", "", "void as unexplained"), kinds, numbers=(1, 2, 4))
    low, never = sum(x.low for x in found.kinds), sum(x.never for x in found.labels)
    say(f"{low} of {len(found.kinds)} kinds are low; {never} of {len(found.labels)} labels were never proven where they could be")


def _percent(share: float) -> str:
    return f"{share:.0%}"


def templates(out: Recorded, json: Json = False) -> None:
    """Show where each template lit up, and where it stayed dark with nothing wrong.

    "lit" counts the incidents in which a query of it was proven, of those whose fault's labels accept it; "dark" the
    controls in which none of its queries showed anything that was not there before, of those in which it was asked.

    \b
    Examples:
      revelio campaign templates --out data/three_apps
      revelio campaign templates --out data/three_apps --json | jq -r '.[] | select(.proven == 0) | .template'
    """
    from fault_injection.labels import load_labels
    from fault_injection.lighting import lighting
    from revelio.cli.catalog import settings_catalog

    with testbed_errors():
        found = lighting(out, ((t.id, t.tool) for t in settings_catalog().templates), load_labels())
    if json:
        emit(found)
        return
    rows = [(x.template, f"{x.proven}/{x.accepted}", f"{x.dark}/{x.controls}", ", ".join(x.kinds)) for x in found]
    table("", ("template", "lit", "dark", "proven for"), rows, numbers=(1, 2))
    groups = (
        ("accepted by incidents, but never lit up", [x.template for x in found if x.accepted and x.never_lit]),
        (
            "never lit up, as no incident was recorded that accepts it",
            [x.template for x in found if x.expected and not x.accepted],
        ),
        ("named by no label, so never expected to light up", [x.template for x in found if not x.expected]),
    )
    for words, dark in groups:
        if dark:
            say(f"{len(dark)} {words}: {', '.join(dark)}")


def relabel(out: Recorded, json: Json = False) -> None:
    """Judge recorded incidents by labels.yaml as it is now, from the results that were recorded. Freeze again afterwards.

    \b
    Examples:
      revelio campaign relabel --out data/three_apps
    """
    from fault_injection.relabel import relabel as judge
    from revelio.cli.catalog import settings_catalog

    with testbed_errors():
        changed = judge(out, settings_catalog())
    if json:
        emit(changed)
    else:
        say(f"{sum(changed.values())} incidents changed" + "".join(f", {count} {kind}" for kind, count in changed.items()))


def freeze(out: Recorded, json: Json = False) -> None:
    """Freeze the splits: write the manifest with each incident's split and each file's hash. Refused when anything leaks.

    \b
    Examples:
      revelio campaign freeze --out data/three_apps
    """
    from fault_injection.freeze import freeze as write_manifest

    counts = write_manifest(out)
    if json:
        emit(counts)
    else:
        say(", ".join(f"{count} {split}" for split, count in sorted(counts.items())) + f" frozen in {out}/manifest.json")


def rewrite(
    dataset: Annotated[Path, typer.Option("--dataset", help="Folder of labelled incidents.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write.")],
    app: Annotated[str, typer.Option("--app", help="The application that the runs are of.")] = "shop",
    reports: Corpus = None,
    writers: Writers = "",
    json: Json = False,
) -> None:
    """Tell the same runs again in other writers' words. Nothing else of them changes.

    \b
    Examples:
      revelio campaign rewrite --dataset data/three_apps --writers w6,w13 --out var/retold
    """
    from fault_injection.retell import rewrite as retell

    with testbed_errors():
        splits = retell(dataset, out, _reporters(app, reports, writers))
    if json:
        emit({"out": str(out), "splits": splits})
    else:
        say(f"{sum(splits.values())} incidents are in {out}: " + ", ".join(f"{n} {name}" for name, n in splits.items()))


def _reporters(app: str, folder: Path | None, writers: str) -> Reporters:
    from fault_injection.opening import CorpusReporters
    from testbed.users.corpus import CORPUS

    return CorpusReporters(app, folder or CORPUS, tuple(w.strip() for w in writers.split(",") if w.strip()))


def _end(number: int, frame: object) -> None:
    """A request to end becomes an exception, so that the fault in force is undone first."""
    raise SystemExit(128 + number)


def _teller(bars: StepBars) -> Callable[[Progress], None]:
    """A bar where there is a terminal, else one line for each stage of each run."""

    def tell(p: Progress) -> None:
        left = "" if p.seconds_left is None else f", {p.seconds_left / 60:.0f} min left"
        if bars.shown:
            bars.report("campaign", p.done, p.total, f"{p.run} {p.stage}{left}")
        else:
            say(f"{time.strftime('%H:%M:%S')} {p.done}/{p.total} recorded, {p.void} void{left}: {p.run} {p.stage}")

    return tell
