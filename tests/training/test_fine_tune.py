"""The report encoder learns which texts complain of the same thing, from cells alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.encoders.report import OnnxEncoder
from revelio.systems.incidents.exchange import Report
from tests.ranker.conftest import labelled

torch = pytest.importorskip("torch")

from revelio.training.arguments import TrainArguments  # noqa: E402
from revelio.training.distributed import ProcessGroup  # noqa: E402
from revelio.training.export import base_encoder, export_encoder  # noqa: E402
from revelio.training.fine_tune import LabelledText, enough, fine_tune, labelled_texts  # noqa: E402
from revelio.training.log import Epoch, TrainingLog  # noqa: E402

SAYINGS = {
    "shop/cart/slow": ("the basket crawls", "my cart takes ages", "waiting forever for the trolley", "basket page so slow"),
    "shop/cart/error": ("basket blew up", "the cart shows a red error", "trolley page broken, 500", "cart crashed on me"),
    "shop/search/slow": ("search is a snail", "looking things up takes ages", "results come after a minute", "find is slow"),
    "shop/search/error": ("search fell over", "error when I look for things", "find gives a 500", "search page is broken"),
}


def told() -> list[LabelledText]:
    """Each saying in a few dresses, so that there is enough to learn from."""
    dresses = ("{}", "hello, {}", "{} please fix", "since today: {}", "{}!!")
    return sorted((d.format(text), cell) for cell, texts in SAYINGS.items() for text in texts for d in dresses)


def test_texts_without_a_cell_teach_nothing_and_each_text_counts_once() -> None:
    incident = labelled(1, "hog", "alpha")
    told_twice = replace(
        incident.record, reports=(Report("slow", "w1", "a/b/slow"), Report("hm", "w2"), Report("slow", "w3", "a/b/slow"))
    )
    found = labelled_texts([replace(incident, record=told_twice), replace(incident, record=told_twice)])
    assert found == [("slow", "a/b/slow")]
    assert not enough(found)
    assert enough(told())


def test_texts_about_one_thing_come_closer_and_those_of_others_do_not(catalog: Catalog, tmp_path: Path) -> None:
    arguments = TrainArguments(tmp_path, tmp_path, catalog, device="cpu", fine_tune=2)
    epochs: list[Epoch] = []

    class Kept(TrainingLog):
        def note(self, epoch: Epoch) -> None:
            epochs.append(epoch)

    alone = ProcessGroup(0, 1, torch.device("cpu"))
    tuned = tmp_path / "encoder"
    fine_tune(base_encoder(), told(), tuned, arguments, "key", alone, Kept(None, lambda what, done, total: None))
    assert [e.part for e in epochs] == ["encoder", "encoder"]

    def margin(source: Path) -> float:
        export_encoder(source, tmp_path / "report.onnx", tmp_path / "tokenizer.json")
        encoder = OnnxEncoder(tmp_path / "report.onnx", tmp_path / "tokenizer.json")
        unseen = ["cart is loading so slowly", "my basket is a snail today", "error in the basket", "the cart is broken"]
        vectors = encoder.encode(unseen)
        likeness = vectors @ vectors.T
        return float(np.mean([likeness[0, 1], likeness[2, 3]]) - np.mean([likeness[0, 3], likeness[1, 2]]))

    assert margin(tuned) > margin(base_encoder())
