"""``revelio incidents``: recorded incidents and the exchange format."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.catalog import settings_catalog
from revelio.cli.engine import SystemOption, choose_place, open_service, settings_with, take_snapshot
from revelio.cli.output import Json, console, emit, say, table
from revelio.errors import InvalidInputError, RevelioError

if TYPE_CHECKING:
    from revelio.service import Service
    from revelio.systems.incidents.recorded import RecordedIncidents
    from revelio.types import Evidence, Incident, RecordedResult

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_TEXT_WIDTH = 70

Folder = Annotated[
    Path | None, typer.Option("--to", help="Folder of recorded incidents; the one of the settings when not given.")
]


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help="Recorded incidents and the exchange format.", no_args_is_help=True, rich_markup_mode=None)
    app.command("list")(show_all)
    app.command("show")(show)
    app.command("import")(take_in)
    app.command("export")(hand_out)
    app.command("record")(record)
    app.command("bundle")(bundle)
    return app


def show_all(json: Json = False) -> None:
    """List the recorded incidents.

    \b
    Examples:
      revelio incidents list
      REVELIO_INCIDENTS=var/incidents revelio incidents list --json
    """
    found = _recorded().list()
    if json:
        emit([{"id": i.id, "system": i.system, "opened_at": i.opened_at, "reports": i.reports} for i in found])
    elif found:
        table("", ("id", "system", "opened", "report"), [(i.id, i.system, _moment(i.opened_at), _short(i.report)) for i in found])
    else:
        say(f"no incidents in {settings_with().incidents}; `revelio incidents import FILE` or `record` adds some")


def show(incident_id: Annotated[str, typer.Argument(metavar="ID")], json: Json = False) -> None:
    """Show one incident: its reports and the series that deviate most from their baseline.

    \b
    Examples:
      revelio incidents show shop-1a2b3c4d5e
      revelio incidents show shop-1a2b3c4d5e --json     (one record of the exchange format)
    """
    found = _recorded().get(incident_id)
    if json:
        from revelio.systems.incidents.exchange import dump_record

        typer.echo(dump_record(found), nl=False)
        return
    from rich.text import Text

    screen = console()
    screen.print(Text(f"{found.id} · {found.system} · opened {_moment(found.opened_at)}", "bold"))
    for report in found.reports:
        screen.print(Text(f"“{report.text}”" + (f"  ({report.writer})" if report.writer else "")))
    for line in _contents(found.evidence):
        screen.print(Text(line, "dim"))
    _print_furthest(found.evidence)


def take_in(
    files: Annotated[list[Path], typer.Argument(help="Files or folders in the exchange format (.jsonl, .jsonl.xz).")],
    to: Folder = None,
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite existing incidents.")] = False,
    json: Json = False,
) -> None:
    """Check incident files and import their incidents: all of them or, after an error, none.

    \b
    Examples:
      revelio incidents import theirs.jsonl --to var/incidents
      REVELIO_INCIDENTS=var/incidents revelio incidents import theirs.jsonl
    """
    from revelio.systems.incidents.exchange import read_records, write_records

    folder = _writable(to)
    records = [r for path in files for r in read_records(path)]
    if not records:
        raise InvalidInputError(f"{', '.join(map(str, files))}: no incident in there")
    seen: set[str] = set()
    for one in records:
        _free(folder, one.id, replace=replace or one.id in seen)
        if one.id in seen:
            raise InvalidInputError(f"incident id {one.id!r} comes twice in these files; ids must differ")
        seen.add(one.id)
    for one in records:
        write_records(_path(folder, one.id), [one])
    if json:
        emit({"folder": str(folder), "imported": [r.id for r in records]})
    else:
        say(f"{len(records)} incidents are now in {folder}")


def hand_out(
    out: Annotated[Path, typer.Option("--out", help="File to write; .xz compresses.")],
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="All when none is named.")] = None,
    json: Json = False,
) -> None:
    """Write recorded incidents to one file in the exchange format.

    \b
    Examples:
      revelio incidents export --out all.jsonl.xz
      revelio incidents export shop-1a2b3c4d5e --out one.jsonl
    """
    from revelio.systems.incidents.exchange import write_records

    incidents = _recorded()
    chosen = ids or list(incidents.ids())
    if not chosen:
        raise InvalidInputError(f"there is nothing to export in {incidents.folder}")
    if not out.name.endswith((".jsonl", ".jsonl.xz")):
        raise InvalidInputError(f"{out}: name it .jsonl or .jsonl.xz, so that it can be read back")
    write_records(out, [incidents.get(i) for i in chosen])
    if json:
        emit({"file": str(out), "exported": chosen})
    else:
        say(f"{len(chosen)} incidents are in {out}")


def record(
    report: Annotated[str, typer.Argument(help="The report: what is broken.")],
    system: SystemOption = None,
    name: Annotated[str | None, typer.Option("--id", help="The incident's id; made from system and time when not given.")] = None,
    to: Folder = None,
    json: Json = False,
) -> None:
    """Record a live system now, with the snapshot of every tool and the result of every query, to query it again later.

    This runs every possible query, a few at a time, and may take some minutes.

    \b
    Examples:
      revelio incidents record "checkout is slow" --system shop --to var/incidents
    """
    from revelio.systems.incidents.exchange import Record, Report, write_records

    service = open_service()
    chosen, _ = choose_place(service, system, None)
    folder = _writable(to)
    seen = take_snapshot(service, chosen, None)
    incident_id = name or f"{chosen}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(seen.opened_at))}"
    _free(folder, incident_id, replace=False)
    made = Record(
        id=incident_id,
        system=seen.system,
        opened_at=seen.opened_at,
        evidence=seen.evidence,
        reports=(Report(report),) if report.strip() else (),
        results=_results(service, seen),
        catalog=service.catalog.digest,
    )
    path = _path(folder, incident_id)
    write_records(path, [made])
    if json:
        emit({"id": incident_id, "file": str(path), "results": len(made.results), "missing": seen.evidence.missing})
    else:
        say(f"{incident_id} with {len(made.results)} results is in {path}")
        for source in seen.evidence.missing:
            say(f"  {source} did not answer and is missing")


def bundle(
    dataset: Annotated[Path, typer.Option("--dataset", help="A campaign's folder.")],
    to: Annotated[Path, typer.Option("--to", help="Folder to write.")],
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Incidents of the campaign.")],
    json: Json = False,
) -> None:
    """Copy chosen incidents of a campaign with every query's result, without labels, fault or split.

    \b
    Examples:
      revelio incidents bundle shop-1a2b3c4d5e --dataset data/three_apps --to var/incidents
    """
    from revelio.systems.incidents.bundle import bundle as copy

    written = copy(dataset, ids, to)
    if json:
        emit({"folder": str(to), "bundled": written})
    else:
        say(f"{len(written)} incidents are in {to}")


def _results(service: Service, seen: Incident) -> tuple[RecordedResult, ...]:
    """What each candidate query shows; those whose backend does not answer are left out and said."""
    from fault_injection.campaigns.proof import execute, recorded
    from revelio.catalog.candidates import candidates, inventory

    system = service.system(seen.system)
    done = execute(system, candidates(service.catalog, inventory(seen.evidence)), system.scope(seen.evidence))
    for query, reason in done.failed.items():
        say(f"  not run: {query.id}: {reason}")
    return recorded(done.results, {})


def _recorded() -> RecordedIncidents:
    from revelio.systems.incidents.recorded import RecordedIncidents

    folder = settings_with().incidents
    if not folder.is_dir():
        raise InvalidInputError(f"setting incidents is {folder}, which is no folder; `revelio incidents import FILE` makes it")
    return RecordedIncidents(folder)


def _writable(to: Path | None) -> Path:
    from revelio.settings import BUNDLED

    folder = to or settings_with().incidents
    if folder.resolve().is_relative_to(BUNDLED.resolve()):
        raise RevelioError(
            f"{folder} belongs to the installed package; name another with --to DIR, and set REVELIO_INCIDENTS=DIR to use it"
        )
    return folder


def _path(folder: Path, incident_id: str) -> Path:
    return folder / f"{incident_id}.jsonl.xz"


def _free(folder: Path, incident_id: str, *, replace: bool) -> None:
    if not _FILE_NAME.fullmatch(incident_id):
        raise InvalidInputError(f"incident id {incident_id!r} cannot be a file's name; use letters, digits, '.', '_' and '-'")
    if not replace and _path(folder, incident_id).exists():
        raise InvalidInputError(f"{_path(folder, incident_id)} is there already; --replace overwrites it")


def _contents(evidence: Evidence) -> list[str]:
    window, baseline = evidence.window.seconds, evidence.baseline.seconds
    counts = f"{len(evidence.series)} series, {len(evidence.logs)} log patterns, {len(evidence.spans)} span figures, "
    lines = [f"window {window:.0f} s after a baseline of {baseline:.0f} s; {counts}{len(evidence.changes)} changes"]
    if evidence.missing:
        lines.append(f"did not answer: {', '.join(evidence.missing)}")
    return lines


def _print_furthest(evidence: Evidence, most: int = 12) -> None:
    from rich.text import Text

    from revelio.cli.evidence import sparkline
    from revelio.support.anomaly import deviation, split
    from revelio.support.numbers import format_sigma

    metrics = {m.name: m for tool in settings_catalog().tools for m in tool.metrics}
    rows = []
    for series in evidence.series:
        before, now = split(series.times, series.values, evidence.baseline, evidence.window)
        metric = metrics.get(series.metric)
        direction, floor = (metric.direction, metric.noise_floor) if metric else ("both", 0.0)
        distance = deviation(before, now, direction, floor, series.earlier)
        rows.append((distance, series))
    rows.sort(key=lambda r: -r[0])
    table(
        "",
        ("largest deviations", "metric", "baseline│window", "σ"),
        [
            (s.entity.name, s.metric, Text(sparkline(s, evidence.baseline, evidence.window), "cyan"), format_sigma(d))
            for d, s in rows[:most]
        ],
        numbers=(3,),
    )


def _moment(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_WIDTH else line[: _TEXT_WIDTH - 1] + "…"
