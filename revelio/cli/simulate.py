"""``revelio simulate``: simulated incidents, to read and to compare with recorded ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.output import Json, StepBars, emit, say, table

if TYPE_CHECKING:
    from revelio.training.simulation import Corpus

DATASET = Path("data/three_apps")


def simulate(
    show: Annotated[int, typer.Option("--show", min=0, help="How many to print.")] = 3,
    seed: Annotated[int, typer.Option("--seed", help="Seed of everything random.")] = 0,
    start: Annotated[int, typer.Option("--start", min=0, help="Number of the first one.")] = 0,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Those whose mechanisms and dialects are never trained on.")
    ] = False,
    dataset: Annotated[
        Path,
        typer.Option(
            "--dataset", help="Folder of labelled incidents; their reports of the training split are reworded, where it is there."
        ),
    ] = DATASET,
    compare: Annotated[
        int,
        typer.Option("--compare", min=0, help="Instead compare so many with the training split of the dataset, and time them."),
    ] = 0,
    json: Json = False,
) -> None:
    """Print simulated incidents, on which `revelio train --simulated` pretrains: systems, faults and reports drawn at random.

    \b
    Examples:
      revelio simulate
      revelio simulate --seed 1 --start 40 --show 10
      revelio simulate --held-out --json > incidents.jsonl
      revelio simulate --compare 200 --dataset data/three_apps

    An incident is determined by seed and number. --json prints them in the exchange format. --compare prints quantiles of what
    can be asked, of what deviates, and of how far up the cause is when queries are ordered by the deviation of what they read.
    """
    from revelio.systems.incidents.exchange import dump_record
    from revelio.training.simulation import simulated
    from revelio.training.simulation.show import shown

    texts = _texts(dataset)
    if compare:
        _compare(dataset, texts, seed, compare, held_out=held_out, json=json)
        return
    for labelled in simulated(seed, show, texts, held_out=held_out, start=start):
        if json:
            typer.echo(dump_record(labelled.record), nl=False)
        else:
            typer.echo("\n".join(shown(labelled)) + "\n")


def _texts(dataset: Path) -> Corpus:
    from revelio.systems.incidents.dataset import open_dataset
    from revelio.training.simulation import corpus

    if dataset == DATASET and not dataset.exists():
        return corpus(())
    return corpus(r for labelled in open_dataset(dataset).read("train") for r in labelled.record.reports)


def _compare(dataset: Path, texts: Corpus, seed: int, count: int, *, held_out: bool, json: bool) -> None:
    from revelio.catalog import bundled_catalog
    from revelio.systems.incidents.dataset import open_dataset
    from revelio.training.simulation import simulated
    from revelio.training.simulation.distributions import QUANTILES, distributions

    with StepBars() as bars:
        began = time.perf_counter()
        some = []
        for labelled in simulated(seed, count, texts, held_out=held_out):
            some.append(labelled)
            bars.report("simulate", len(some), count)
        speed = 60.0 * count / (time.perf_counter() - began)
        theirs = distributions(open_dataset(dataset).read("train"), bundled_catalog())
        found = distributions(some, bundled_catalog())
    if json:
        emit({"a_minute": speed, "quantiles": QUANTILES, "simulated": found, "recorded": theirs})
        return
    rows = [
        (d.name, of, *(f"{q:g}" for q in d.quantiles))
        for of, group in (("simulated", found), ("recorded", theirs))
        for d in group
    ]
    order = {d.name: place for place, d in enumerate(found)}
    rows.sort(key=lambda row: order.get(row[0], len(order)))
    table("", ("figure", "incidents", *(f"{q:.0%}" for q in QUANTILES)), rows, numbers=range(2, 2 + len(QUANTILES)))
    say(f"{speed:.0f} incidents a minute in one process")
