"""``revelio study``: what each part of the model and of the data is worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.catalog import settings_catalog
from revelio.cli.evaluate import DATASET, show
from revelio.cli.output import Json, StepBars, emit, say, table
from revelio.cli.train import Device, needs_training_packages
from revelio.errors import InvalidInputError

if TYPE_CHECKING:
    from revelio.training.arguments import TrainArguments

WORK = Path("var/study")


def study(
    dataset: Annotated[Path, typer.Option("--dataset", help="Folder of labelled incidents.")] = DATASET,
    work: Annotated[Path, typer.Option("--work", help="Where the trained models are kept; those that are there stay.")] = WORK,
    only: Annotated[list[str] | None, typer.Option("--only", help="A variant; may be given several times.")] = None,
    device: Annotated[Device, typer.Option("--device", help="Where to train.")] = Device.AUTO,
    seed: Annotated[int, typer.Option("--seed", help="Seed of everything random.")] = 0,
    encoder: Annotated[
        Path | None, typer.Option("--encoder", help="A model folder whose report encoder all variants take that have no other.")
    ] = None,
    catalog: Annotated[list[Path] | None, typer.Option("--catalog", help="Catalog file; may be given several times.")] = None,
    strangers: Annotated[
        bool, typer.Option("--strangers", help="Instead: learn from one application, answer for another with other causes.")
    ] = False,
    html: Annotated[Path | None, typer.Option("--html", help="Also write a page with plots.")] = None,
    json: Json = False,
) -> None:
    """Train the model anew without one of its parts, or with fewer or other incidents, and score each on the test splits.

    The variants: single is one network and not the mean of three, as are all others, to be compared with it:
    no_factorisation, no_tool_first, no_surprise, no_rank_features; no_fine_tuning has the published report encoder, and
    no_quantization has it in fp32; share_25 and share_50 learn from a part of the incidents; few_10 and few_30 are shown
    that many incidents of the new application. Each takes a third of a training. What is interrupted goes on when it is
    started again.

    With --strangers models learn from one application of the training split and half of the kinds of faults, and are asked
    about another application and the other kinds: what to expect on a system, and of causes, that nobody showed them.
    "unsaid" is the same with a catalog whose templates do not say what they read, "ready_made" with that catalog and nothing
    but a few ready-made figures of each entity. confidence is the probability that the first query was given, anew3 the
    model's top3 with the list ranked anew after each result. That takes half an hour on two cores.

    \b
    Examples:
      revelio study
      revelio study --encoder revelio/bundled/model --only whole --only share_25 --only share_50
      revelio study --strangers --encoder revelio/bundled/model
      revelio study --json > study.json
    """
    with needs_training_packages():
        from revelio.evaluation.study import study as compare
        from revelio.training.arguments import TrainArguments

    arguments = TrainArguments(dataset, work, settings_catalog(catalog), device=device.value, seed=seed, encoder=encoder)
    if strangers:
        _strangers(arguments, only, html, json)
        return
    with StepBars() as bars:
        found = compare(arguments, only or (), bars.report)
    if html:
        from revelio.evaluation.page import page

        html.write_text(page(found), encoding="utf-8")
        say(f"the report is in {html}")
    if json:
        emit(found.json())
    else:
        show(found)


def _strangers(arguments: TrainArguments, only: list[str] | None, html: Path | None, json: bool) -> None:
    from revelio.evaluation.strangers import MEANS, answer_strangers

    if only or html:
        raise InvalidInputError("--strangers has no variants and no page: leave out --only and --html")
    with StepBars() as bars:
        found = answer_strangers(replace(arguments, out=arguments.out / "strangers", members=1), bars.report)
    if json:
        emit(found)
        return
    rows = [(a.strangers, a.given, a.method, a.incidents, *(_share(getattr(a, share)) for share in MEANS)) for a in found]
    columns = ("strangers", "given", "method", "incidents", *MEANS)
    table("Asked about another application and other causes", columns, rows, numbers=range(3, len(columns)))


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
