"""``revelio study``: ablations and transfer of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.catalog import settings_catalog
from revelio.cli.datasets import with_catalogs
from revelio.cli.engine import settings_with
from revelio.cli.evaluate import DATASET, show
from revelio.cli.failure import check_writable
from revelio.cli.output import Json, StepBars, complain, emit, say, table
from revelio.cli.train import TrainingDevice
from revelio.errors import InvalidInputError
from revelio.support.extras import extras_for

if TYPE_CHECKING:
    from revelio.catalog import Catalog
    from revelio.training.arguments import TrainArguments

WORK = Path("var/study")


def study(
    dataset: Annotated[Path, typer.Option("--dataset", help="Folder of labelled incidents.")] = DATASET,
    work: Annotated[Path, typer.Option("--work", help="Folder of the trained models; existing ones are reused.")] = WORK,
    only: Annotated[list[str] | None, typer.Option("--only", help="A variant; may be given several times.")] = None,
    device: Annotated[TrainingDevice, typer.Option("--device", help="Where to train.")] = TrainingDevice.AUTO,
    seed: Annotated[int, typer.Option("--seed", help="Seed of everything random.")] = 0,
    encoder: Annotated[
        Path | None,
        typer.Option("--encoder", exists=True, file_okay=False, help="A model folder whose report encoder the variants share."),
    ] = None,
    catalog: Annotated[list[Path] | None, typer.Option("--catalog", help="Catalog file; may be given several times.")] = None,
    transfer: Annotated[
        bool,
        typer.Option("--transfer", help="Train on one application and half of the fault kinds, test on the rest."),
    ] = False,
    systems: Annotated[
        list[Path] | None, typer.Option("--systems", metavar="DIR ...", help="Leave each system of these datasets out in turn.")
    ] = None,
    more: Annotated[list[Path] | None, typer.Argument(metavar="", hidden=True)] = None,
    per_system: Annotated[int, typer.Option("--per-system", min=5, help="With --systems: maximal incidents per system.")] = 60,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="With --systems: epochs of each training.")] = 30,
    own: Annotated[
        list[int] | None,
        typer.Option(
            "--own", min=1, help="With --systems: also after so many incidents of that system; may be given several times."
        ),
    ] = None,
    simulated: Annotated[
        int, typer.Option("--simulated", min=0, help="With --systems: pretrain on so many simulated incidents, and mix them in.")
    ] = 0,
    strangers: Annotated[bool, typer.Option("--strangers", hidden=True, help="Deprecated name of --transfer.")] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Also write a page with plots.")] = None,
    json: Json = False,
) -> None:
    """Train networks without one of their parts, or on fewer or other incidents, and score each variant on the test splits.

    Variants: single is one network instead of three, and the reference for all others: no_factorisation, no_tool_first,
    no_rarity, no_rank_features; no_fine_tuning has the published report encoder, and no_quantization has it in fp32; share_25
    and share_50 train on a part of the incidents; few_10 and few_30 add that many incidents of the new application. Each
    takes a third of a full training. An interrupted study resumes when started again.

    --transfer trains on one application of the training split and half of the fault kinds, and tests on another application
    and the other kinds. "inferred_reads" removes the declared reads from the catalog; "summary_features" also replaces raw
    telemetry by summary features of each entity. confidence is the mean probability of the first query, reranked_top3 the
    model's top 3 when the list is re-ranked after each result. It takes half an hour on two cores.

    --systems trains on all systems of the datasets but one and tests on that one, for each system. Beside the model stand
    random, deviation_count (the component with the most anomalous figures), bm25,
    lambda_rank (boosted trees that know no name), and today (the model of the settings, which may have been trained on the
    system). A dataset with frozen splits takes part with its training split. The mean weighs systems equally. Each
    DATASET/catalog.yaml holds the catalog of its records. --own 5 --own 20 adds the model after `revelio learn` from 5 and 20
    confirmed incidents of that system (own_5, own_20), and scores every method on the others.

    \b
    Examples:
      revelio study
      revelio study --encoder revelio/bundled/model --only whole --only share_25 --only share_50
      revelio study --transfer --encoder revelio/bundled/model
      revelio study --systems data/three_apps /data/petshop /data/hotel --per-system 60
      revelio study --systems data/three_apps --simulated 3000
      revelio study --json > study.json
    """
    with extras_for("training"):
        from revelio.training.arguments import TrainArguments
        from revelio.training.evaluation.study import study as compare

    arguments = TrainArguments(
        dataset, work, settings_catalog(None if systems else catalog), device=device.value, seed=seed, encoder=encoder
    )
    if more and not systems:
        raise InvalidInputError(f"{more[0]}: folders belong to --systems")
    if simulated and not systems:
        raise InvalidInputError("--simulated belongs to --systems")
    if systems:
        folders = with_catalogs([*systems, *(more or ())], catalog)
        _systems(replace(arguments, members=1, folds=0, epochs=epochs, simulated=simulated), folders, per_system, own or (), json)
        return
    if strangers:
        complain("--strangers is deprecated; use --transfer")
    if transfer or strangers:
        _transfer(arguments, only, html, json)
        return
    if html:
        check_writable(html)
    with StepBars() as bars:
        found = compare(arguments, only or (), bars.report)
    if html:
        from revelio.training.evaluation.page import page

        html.write_text(page(found), encoding="utf-8")
        say(f"the report is in {html}")
    if json:
        emit(found.json())
    else:
        show(found)


def _transfer(arguments: TrainArguments, only: list[str] | None, html: Path | None, json: bool) -> None:
    from revelio.training.evaluation.transfer import MEANS, study_transfer

    if only or html:
        raise InvalidInputError("--transfer has no variants and no page: omit --only and --html")
    with StepBars() as bars:
        found = study_transfer(replace(arguments, out=arguments.out / "transfer", members=1), bars.report)
    if json:
        emit([asdict(a) | {"strangers": a.split, "anew3": a.reranked_top3} for a in found])  # with the deprecated names
        return
    rows = [(a.split, a.given, a.method, a.incidents, *(_share(getattr(a, share)) for share in MEANS)) for a in found]
    columns = ("split", "given", "method", "incidents", *MEANS)
    table("Another application and other fault kinds than in training", columns, rows, numbers=range(3, len(columns)))


def _systems(
    arguments: TrainArguments, folders: list[tuple[Path, Catalog | None]], per_system: int, own: Sequence[int], json: bool
) -> None:
    from revelio.ranker.artifact import load_ranker
    from revelio.systems.incidents.dataset import open_datasets
    from revelio.training.evaluation.systems import SHARES, leave_one_out
    from revelio.training.feedback.own_incidents import adapted

    dataset, model = open_datasets(folders), settings_with().model
    today = load_ranker(model, dataset.all_tools(arguments.catalog))
    part = f"systems-{arguments.simulated}-simulated" if arguments.simulated else "systems"
    whole = replace(arguments, out=arguments.out / part, encoder=arguments.encoder or model)
    with StepBars() as bars:
        found = leave_one_out(
            dataset, whole, today, per_system, bars.report, sorted(own), lambda r, seen: adapted(r, seen, arguments.catalog)
        )
    if json:
        emit(found)
        return
    rows = [(f.system, f.method, f.incidents, *(_share(getattr(f, s)) for s in SHARES), _interval(f.top1_ci95)) for f in found]
    columns = ("left out", "method", "incidents", *SHARES, "top1 95 %")
    table("Systems that training never saw", columns, rows, numbers=range(2, len(columns)))


def _interval(interval: tuple[float, float] | None) -> str:
    return f"{interval[0]:.2f}-{interval[1]:.2f}" if interval else ""


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
