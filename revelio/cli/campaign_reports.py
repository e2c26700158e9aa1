"""``revelio campaign status | check-labels | templates | leakage | card``: reports about recorded incidents."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.foreign import testbed_errors
from revelio.cli.output import Json, StepBars, emit, say, table

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from fault_injection.dataset.leakage import Leakage

Recorded = Annotated[Path, typer.Option("--out", exists=True, file_okay=False, help="The campaign's folder.")]


def status(out: Recorded, json: Json = False) -> None:
    """Count what a campaign has recorded so far.

    \b
    Examples:
      revelio campaign status --out data/three_apps
    """
    from fault_injection.campaigns.status import status as count

    found = count(out)
    if json:
        emit(with_earlier_keys(found, {"discarded": "void"}))
        return
    runs = f" from {found.runs} runs" if found.runs < found.incidents else ""
    say(f"{found.incidents} incidents{runs} with {found.reports} reports in {out}")
    for title, counts in (
        ("split", found.by_split),
        ("kind", found.by_kind),
        ("place", found.by_place),
        ("discarded", found.discarded),
    ):
        if counts:
            table("", (title, "runs"), sorted(counts.items()), numbers=(1,))


def check_labels(out: Recorded, json: Json = False) -> None:
    """Show how often each kind's cause was shown, and how often each accepted query was proven.

    Proven: executed, with its signal there in the incident and absent before. "shown" counts the runs of a kind in which
    a query of grade 3 was proven, of those recorded and those discarded because no tool shows their cause; under 90 %
    is marked "low". "incidents" counts those with a proven query of a template, of those in which it could be asked about
    the place; none of three or more is marked "never": its template, its signal or its entry in labels.yaml is wrong.

    \b
    Examples:
      revelio campaign check-labels --out data/three_apps
      revelio campaign check-labels --out data/three_apps --json | jq -r '.kinds[] | select(.low) | .kind'
    """
    from fault_injection.dataset.label_report import label_report

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
    table("", ("kind", "shown", "", "", "discarded as unexplained"), kinds, numbers=(1, 2, 4))
    low, never = sum(x.low for x in found.kinds), sum(x.never for x in found.labels)
    say(f"{low} of {len(found.kinds)} kinds are low; {never} of {len(found.labels)} labels were never proven where they could be")


def with_earlier_keys(found: DataclassInstance, earlier: dict[str, str]) -> dict[str, object]:
    """A result as JSON carries it; a key of ``earlier`` appears under its earlier name too (deprecated)."""
    content = asdict(found)
    return content | {old: content[new] for new, old in earlier.items()}


def _percent(share: float) -> str:
    return f"{share:.0%}"


def templates(
    out: Annotated[list[Path], typer.Option("--out", help="A campaign's folder; may be given several times.")], json: Json = False
) -> None:
    """Show in how many incidents each template showed the fault, and in how many controls it stayed quiet.

    "proven" counts the incidents in which one of its queries was proven, of those whose fault's labels accept it; "quiet"
    the controls in which none of its queries showed a new anomaly, of those in which it ran.

    \b
    Examples:
      revelio campaign templates --out data/three_apps --out data/every_template
      revelio campaign templates --out data/three_apps --json | jq -r '.[] | select(.proven == 0) | .template'
    """
    from fault_injection.dataset.template_coverage import template_coverage
    from fault_injection.labels import load_labels
    from revelio.cli.catalog import settings_catalog

    with testbed_errors():
        found = template_coverage(out, ((t.id, t.tool) for t in settings_catalog().templates), load_labels())
    if json:
        emit([with_earlier_keys(one, {"quiet": "dark"}) for one in found])
        return
    rows = [(x.template, f"{x.proven}/{x.accepted}", f"{x.quiet}/{x.controls}", ", ".join(x.kinds)) for x in found]
    table("", ("template", "proven", "quiet", "proven for"), rows, numbers=(1, 2))
    groups = (
        ("accepted by incidents, but never proven", [x.template for x in found if x.accepted and x.never_proven]),
        (
            "never proven, as no recorded incident accepts it",
            [x.template for x in found if x.expected and not x.accepted],
        ),
        ("named by no label", [x.template for x in found if not x.expected]),
    )
    for words, names in groups:
        if names:
            say(f"{len(names)} {words}: {', '.join(names)}")


def leakage(
    out: Recorded,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 where a strong feature is not explained.")] = False,
    json: Json = False,
) -> None:
    """Show what gives injected faults away: the features by which a classifier recognises each kind and mechanism.

    A small decision tree separates the parts that a fault was injected into from those in incidents of the category's other
    kinds and in controls. "held out" is its balanced accuracy on held-out incidents (50 % is chance); "unreal" is the same
    using only features that a real fault would not leave, or that fault_injection/dataset/leakage_features.yaml does not
    explain. Then come the features that are strong alone: the share of affected parts and of other parts that have them, and
    whether a real fault leaves them too. A strong feature without an explanation is "unlisted": explain it in
    leakage_features.yaml, or change the kind. Takes scikit-learn, and minutes for hundreds of incidents.

    \b
    Examples:
      revelio campaign leakage --out data/three_apps
      revelio campaign leakage --out data/three_apps --strict --json | jq -r '.[] | select(.unlisted != []) | .name'
    """
    from fault_injection.campaigns.status import records_in
    from fault_injection.dataset.accepted_features import load_accepted_features
    from fault_injection.dataset.leakage import find_leakage
    from fault_injection.dataset.leakage_features import run_features

    with StepBars() as bars:
        found = find_leakage(run_features(records_in(out)), load_accepted_features(), bars.report)
    if json:
        emit([with_earlier_keys(one, {"features": "marks"}) for one in found])
    else:
        _print_leakage(found)
    if strict and any(one.unlisted for one in found):
        raise typer.Exit(1)


SHOWN = 6
"""Features that are shown of each kind; those that are not explained, or not real, are all shown."""


def _print_leakage(found: tuple[Leakage, ...]) -> None:
    told = [one for one in found if one.accuracy is not None and one.unreal_accuracy is not None]
    features = [
        (one.name, feature.name, f"{feature.here:.0%}", f"{feature.elsewhere:.0%}", feature.real or "unlisted", feature.because)
        for one in told
        for rank, feature in enumerate(one.features)
        if rank < SHOWN or feature.real in (None, "no")
    ]
    table("", ("kind or mechanism", "feature", "here", "others", "real?", "why"), features, numbers=(2, 3))
    rows = [
        (one.name, one.mechanism, one.incidents, f"{one.accuracy:.0%}", f"{one.unreal_accuracy:.0%}", ", ".join(one.unlisted))
        for one in told
    ]
    table("", ("kind or mechanism", "mechanism", "incidents", "held out", "unreal", "unlisted"), rows, numbers=(2, 3, 4))
    if few := [f"{one.name} ({one.incidents})" for one in found if one.accuracy is None]:
        say(f"too few incidents to hold any out: {', '.join(few)}")


def card(
    out: Recorded,
    page: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="Write them into this page instead of printing.")
    ] = None,
    json: Json = False,
) -> None:
    """Print the figures of the dataset's card and the table of its leakage features, from the frozen incidents.

    \b
    Examples:
      revelio campaign card --out data/three_apps
      revelio campaign card --out data/three_apps --write docs/dataset.md
    """
    from fault_injection.dataset.card import blocks, figures, put

    told = figures(out)
    made = blocks(told)
    if page is not None:
        put(page, made)
        say(f"{page} shows {told.incidents} incidents, frozen as {told.digest}")
    if json:
        emit(told)
    elif page is None:
        typer.echo("\n\n".join(made.values()))
