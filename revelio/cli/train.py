"""``revelio train``: a model from a labelled dataset."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from revelio.cli.catalog import settings_catalog
from revelio.cli.datasets import with_catalogs
from revelio.cli.failure import check_writable
from revelio.cli.output import Json, StepBars, emit, say
from revelio.support.extras import extras_for


class TrainingDevice(StrEnum):
    """Where to train."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


def train(
    dataset: Annotated[
        list[Path],
        typer.Option("--dataset", help="Folder of labelled incidents; may be given several times."),
    ],
    out: Annotated[Path, typer.Option("--out", help="Model folder to write.")],
    device: Annotated[TrainingDevice, typer.Option("--device", help="Where to train.")] = TrainingDevice.AUTO,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last checkpoint in --out.")] = False,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="Two runs give the same weights.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="Seed of everything random.")] = 0,
    fine_tune: Annotated[
        int, typer.Option("--fine-tune", help="Maximal epochs of fine-tuning the report encoder; 0 keeps the published one.")
    ] = 3,
    encoder: Annotated[
        Path | None,
        typer.Option("--encoder", exists=True, file_okay=False, help="A model folder whose report encoder is reused."),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option("--from", exists=True, file_okay=False, help="A model folder to continue from, with its report encoder."),
    ] = None,
    superpose: Annotated[
        int,
        typer.Option(
            "--superpose",
            help="Train on two faults at once, too: each incident laid over so many others, so that the report counts.",
        ),
    ] = 2,
    simulated: Annotated[
        int,
        typer.Option(
            "--simulated", help="Also train on so many simulated incidents (0.5 MB of memory each), and pretrain on them."
        ),
    ] = 0,
    simulated_share: Annotated[
        float, typer.Option("--simulated-share", help="Share of each epoch that is simulated, after pretraining.")
    ] = 1 / 3,
    pretrain: Annotated[int, typer.Option("--pretrain", help="Maximal epochs on simulated incidents alone, before others.")] = 10,
    pairs: Annotated[
        list[Path] | None,
        typer.Option("--pairs", help="Alert texts with expressions (JSON Lines: text, query, about) for the report encoder."),
    ] = None,
    only_encoder: Annotated[
        bool, typer.Option("--only-encoder", help="Train the report encoder alone, for --encoder of a later training.")
    ] = False,
    epochs: Annotated[int, typer.Option("--epochs", help="Maximal epochs of each network.")] = 45,
    catalog: Annotated[
        list[Path] | None,
        typer.Option("--catalog", help="Catalog file; of several datasets each takes one, and `bundled` is the bundled one."),
    ] = None,
    json: Json = False,
) -> None:
    """Train a model and write its folder.

    \b
    Examples:
      revelio train --dataset data/three_apps --out var/model
      revelio train --dataset data/three_apps --out var/model --resume
      REVELIO_MODEL=var/model revelio serve
      revelio train --dataset data/three_apps --superpose 0 --out var/model
      revelio train --from MODEL --dataset data/three_apps --catalog bundled --dataset ours --catalog ours.yaml --out var/model
      revelio train --dataset data/three_apps --simulated 3000 --out var/model
      revelio train --dataset data/three_apps --pairs alerts.jsonl.xz --only-encoder --out var/encoder
      torchrun --nproc-per-node 4 -m revelio train --dataset data/three_apps --out var/model

    Records of a dataset belong to its catalog: that of its --catalog, else DATASET/catalog.yaml, else that of the settings.
    Every epoch adds a line to training.jsonl in the model folder. Under torchrun all processes train one model.
    """
    check_writable(out / "manifest.json")
    main = os.environ.get("RANK", "0") == "0"
    if resume and main and not any(out.glob("*.checkpoint")):
        say(f"there is no checkpoint in {out} to go on from: training begins at the first epoch")
    with StepBars() as bars:
        report = bars.report if main else lambda what, done, total: None
        report("load libraries", 0, 1)
        with extras_for("training"):
            from revelio.training.arguments import CONTINUED_LEARNING_RATE, LEARNING_RATE, TrainArguments
            from revelio.training.train import train as fit
            from revelio.training.train import train_encoder

        report("load libraries", 1, 1)
        (first, its_catalog), *others = with_catalogs(dataset, catalog)
        arguments = TrainArguments(
            dataset=first,
            out=out,
            catalog=settings_catalog(),
            dataset_catalog=its_catalog,
            others=tuple(others),
            start=start,
            learning_rate=CONTINUED_LEARNING_RATE if start else LEARNING_RATE,
            device=device.value,
            resume=resume,
            deterministic=deterministic,
            seed=seed,
            epochs=epochs,
            partners=superpose,
            simulated=simulated,
            simulated_share=simulated_share,
            pretrain=pretrain,
            fine_tune=fine_tune,
            encoder=encoder,
            pairs=tuple(pairs or ()),
        )
        if only_encoder:
            metrics = train_encoder(arguments, report).figures
            name = "report encoder" if metrics else "published report encoder, for want of texts to train it on,"
            use = f"revelio train --encoder {out}"
        else:
            manifest = fit(arguments, report)
            name, metrics, use = manifest.name, manifest.metrics, f"REVELIO_MODEL={out}"
    if not main:
        return
    if json:
        emit({"model": name, "out": str(out), "metrics": metrics})
    else:
        say(f"{name} is in {out}; use it with {use}")
        for metric, value in metrics.items():
            say(f"  {metric} {value:g}")
