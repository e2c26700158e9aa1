"""``revelio eval``: the quality of the ranking, by split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.catalog import settings_catalog
from revelio.cli.datasets import with_catalogs
from revelio.cli.engine import ModelOption, settings_with
from revelio.cli.failure import check_writable
from revelio.cli.gate import check_gate, read_gate
from revelio.cli.output import Json, StepBars, complain, console, emit, say

if TYPE_CHECKING:
    from revelio.training.evaluation.results import Evaluation

DATASET, TWO_AT_ONCE = Path("data/three_apps"), Path("data/production")


def evaluate(
    dataset: Annotated[
        list[Path] | None, typer.Option("--dataset", help="Folder of labelled incidents; may be given several times.")
    ] = None,
    model: ModelOption = None,
    split: Annotated[list[str] | None, typer.Option("--split", help="A split; may be given several times.")] = None,
    catalog: Annotated[
        list[Path] | None,
        typer.Option("--catalog", help="Catalog file; of several datasets each takes one, and `bundled` is the bundled one."),
    ] = None,
    baselines: Annotated[bool, typer.Option("--baselines", help="Also fit and score the baselines.")] = False,
    ablations: Annotated[
        bool, typer.Option("--ablations", help="Also score the model without the report, and without evidence.")
    ] = False,
    runs: Annotated[
        bool, typer.Option("--runs", help="Also count runs until the cause is shown, with a fixed list and re-ranked.")
    ] = False,
    listening: Annotated[
        bool,
        typer.Option("--listening", help="Instead measure what the report decides, on two faults at once and on single ones."),
    ] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Also write a page with plots.")] = None,
    details: Annotated[
        Path | None, typer.Option("--details", help="Also write a line of JSON for each incident and report.")
    ] = None,
    retrieval: Annotated[
        bool,
        typer.Option("--retrieval", help="Score retrieval instead: whether the nearest past incident had the same cause."),
    ] = False,
    pairs: Annotated[
        Path | None,
        typer.Option("--pairs", help="With --retrieval: also texts against their queries (JSON Lines: text, query, about)."),
    ] = None,
    gate: Annotated[
        Path | None,
        typer.Option("--gate", help="Figures kept from an earlier --json: end with 1 if one of them fell by more than .02."),
    ] = None,
    encoder: Annotated[
        Path | None,
        typer.Option("--encoder", help="With --retrieval: also the report encoder in this folder, beside the model's."),
    ] = None,
    json: Json = False,
) -> None:
    """Score a model on the test splits of a dataset.

    top-k is the share of incidents with a query that shows the cause among the first k; "accepted" counts any accepted
    query. Each incident counts once. Intervals are 95 % bootstrap intervals over incidents.

    \b
    Examples:
      revelio eval --dataset data/three_apps
      revelio eval --details details.jsonl
      revelio eval --dataset data/three_apps --baselines --html report.html
      revelio eval --listening
      revelio eval --gate revelio/bundled/model/evaluation.json
      revelio eval --dataset theirs --catalog theirs.yaml --split repeat --json
      revelio eval --retrieval --pairs text-to-query.jsonl.xz
      revelio eval --retrieval --pairs text-to-query.jsonl.xz --encoder var/encoder

    --listening scores recorded runs of two faults (data/production, or those in --dataset), pairs made by laying test incidents
    of an application that training never saw over each other (superposed, not recorded), and these one by one: with the
    report, without it, with that of the other fault, and with nonsense. "Follows either" is the share of pairs whose first
    query is right whichever of both reports is given.
    """
    check_split_names(split or [])
    for path in (html, details):
        if path:
            check_writable(path)
    if gate and (split or retrieval or pairs or encoder):
        raise typer.BadParameter("--gate compares all splits, or those of --listening; leave out --split and --retrieval")
    read_gate(gate)
    if retrieval or pairs or encoder:
        from revelio.cli.evaluate_retrieval import evaluate_retrieval

        evaluate_retrieval(with_catalogs(dataset or [DATASET], catalog), model, pairs, encoder, json)
        return
    if listening:
        from revelio.cli.evaluate_listening import evaluate_listening

        evaluate_listening(with_catalogs(dataset or [DATASET, TWO_AT_ONCE], catalog), model, gate, json)
        return
    from revelio.ranker.artifact import load_ranker
    from revelio.systems.incidents.dataset import open_datasets
    from revelio.training.evaluation.baselines import baselines as simpler
    from revelio.training.evaluation.runner import TEST_SPLITS
    from revelio.training.evaluation.runner import evaluate as compare
    from revelio.training.evaluation.tables import tables
    from revelio.training.evaluation.trained import Trained, WithoutEvidence, WithoutReport

    data, default = open_datasets(with_catalogs(dataset or [DATASET], catalog)), settings_catalog()
    tools = data.all_tools(default)
    trained = Trained(load_ranker(settings_with(model).model, tools))
    with StepBars() as bars:
        found = compare(
            data,
            default,
            trained,
            splits=split or TEST_SPLITS,
            baselines=simpler(tools, trained.ranker.text) if baselines else (),
            ablations=(WithoutReport(trained), WithoutEvidence(trained)) if ablations else (),
            runs=runs,
            progress=bars.report,
            seen=lambda so_far: bars.show(tables(replace(so_far, kinds=()))),
        )
    if html:
        from revelio.training.evaluation.page import page

        html.write_text(page(found), encoding="utf-8")
        say(f"the report is in {html}")
    if details:
        lines = (dumps(asdict(one), ensure_ascii=False) for one in found.details)
        details.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        say(f"{len(found.details)} details are in {details}")
    if json:
        emit(found.json())
    else:
        show(found)
    check_gate(gate, found.json())


def check_split_names(names: Sequence[str]) -> None:
    """Refuse a split that no dataset has."""
    from revelio.systems.incidents.dataset import SPLITS

    for name in names:
        if name not in SPLITS:
            raise typer.BadParameter(f"no split {name!r}; choose from: {', '.join(SPLITS)}")


def show(found: Evaluation) -> None:
    """Print the tables, then the errors of methods."""
    from revelio.training.evaluation.tables import tables

    screen = console()
    screen.print(f"{found.model} on {found.dataset}", markup=False)
    for grid in tables(found):
        screen.print()
        screen.print(grid)
    for failure in found.failures[:10]:
        complain(f"{failure.method} on {failure.incident}: {failure.error}")
    if found.failed:
        complain(f"{found.failed} examples failed; each counts as a miss")
