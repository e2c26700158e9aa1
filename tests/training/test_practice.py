"""Training on simulated incidents beside recorded ones: pretrained on them, never evaluated on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from revelio.catalog import Catalog
from revelio.errors import InvalidInputError
from revelio.settings import BUNDLED
from revelio.systems.incidents.dataset import LabelledIncident
from tests.ranker.conftest import labelled

pytest.importorskip("torch")

from revelio.training.arguments import TrainArguments
from revelio.training.train import train


def test_a_model_is_pretrained_on_simulated_incidents_that_no_fold_holds_out(
    catalog: Catalog, write_dataset: Callable[[list[LabelledIncident]], Path], tmp_path: Path
) -> None:
    kinds, places = ("hog", "bug", "stop"), ("alpha", "beta", "gamma", "delta")
    data = write_dataset([labelled(i, kinds[i % 3], places[i % 4]) for i in range(12)])
    arguments = TrainArguments(
        *(data, tmp_path / "out", catalog),
        device="cpu",
        encoder=BUNDLED / "model",
        simulated=6,
        simulated_share=0.25,
        pretrain=2,
        epochs=2,
        folds=2,
        members=1,
    )
    manifest = train(arguments)
    epochs = [json.loads(line) for line in (tmp_path / "out" / "training.jsonl").read_text().splitlines()]
    assert [e["part"] for e in epochs] == ["simulated"] * 2 + ["fold-0.0"] * 2 + ["fold-1.0"] * 2 + ["final.0"] * 2
    assert manifest.metrics["simulated"] == 6.0
    assert manifest.metrics["train_incidents"] == 12.0
    assert {"simulated_top1", "simulated_top3", "held_out_top1"} <= set(manifest.metrics)


def test_shares_and_numbers_of_simulated_incidents_that_make_no_sense_are_refused(catalog: Catalog, tmp_path: Path) -> None:
    for wrong in ({"simulated": -1}, {"simulated_share": 1.0}, {"pretrain": -1}):
        with pytest.raises(InvalidInputError, match="simulated"):
            TrainArguments(tmp_path, tmp_path, catalog, **wrong)
