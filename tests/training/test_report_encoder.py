"""The report encoder learns which texts mean one thing, and serves without torch what it learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.encoders.report import OnnxEncoder

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from revelio.training.arguments import TrainArguments  # noqa: E402
from revelio.training.distributed import ProcessGroup  # noqa: E402
from revelio.training.export import base_encoder, export_encoder  # noqa: E402
from revelio.training.log import Epoch, TrainingLog  # noqa: E402
from revelio.training.report_encoder import load, train_report_encoder  # noqa: E402
from revelio.training.text_pairs import TextPair, TextPairs  # noqa: E402

SAYINGS = {
    "cart, slow": ("the basket crawls", "my cart takes ages", "waiting forever for the trolley", "basket page so slow"),
    "cart, error": ("basket blew up", "the cart shows a red error", "trolley page broken, 500", "cart crashed on me"),
    "search, slow": ("search is a snail", "looking things up takes ages", "results come after a minute", "find is slow"),
    "search, error": ("search fell over", "error when I look for things", "find gives a 500", "search page is broken"),
}
UNSEEN = ["cart is loading so slowly", "my basket is a snail today", "error in the basket", "the cart is broken"]


class Kept(TrainingLog):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__(None, lambda what, done, total: self.steps.append((done, total)))
        self.epochs: list[Epoch] = []
        self.steps: list[tuple[int, int]] = []

    def note(self, epoch: Epoch) -> None:
        self.epochs.append(epoch)


def reports() -> TextPairs:
    """Each saying in a few dresses, so that there is enough to learn from."""
    dresses = ("{}", "hello, {}", "{} please fix", "since today: {}", "{}!!")
    pairs = [TextPair(d.format(text), meant, text) for meant, texts in SAYINGS.items() for text in texts for d in dresses]
    return {"reports": sorted(pairs)}


def trained(out: Path, catalog: Catalog, log: TrainingLog, *, resume: bool = False, epochs: int = 2) -> dict[str, float]:
    arguments = TrainArguments(out, out, catalog, device="cpu", fine_tune=epochs, resume=resume)
    alone = ProcessGroup(0, 1, torch.device("cpu"))
    return train_report_encoder(base_encoder(), reports(), out / "encoder", arguments, "key", alone, log)


def served(source: Path, folder: Path) -> OnnxEncoder:
    export_encoder(source, folder / "report.onnx", folder / "tokenizer.json", quantize=False)
    return OnnxEncoder(folder / "report.onnx", folder / "tokenizer.json")


def margin(encoder: OnnxEncoder) -> float:
    """How much closer unseen reports of one symptom are than those of two."""
    likeness = encoder.encode(UNSEEN) @ encoder.encode(UNSEEN).T
    return float(np.mean([likeness[0, 1], likeness[2, 3]]) - np.mean([likeness[0, 3], likeness[1, 2]]))


def test_texts_about_one_thing_come_closer_and_serving_gives_the_vectors_of_training(
    catalog: Catalog, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    log = Kept()
    figures = trained(tmp_path, catalog, log)
    assert capfd.readouterr().out == ""
    assert figures["held_out_after"] >= figures["held_out_before"]
    assert [e.epoch for e in log.epochs] == [1, 2]
    assert log.steps[-1][0] == log.steps[-1][1]
    assert not list(tmp_path.glob("*.checkpoints"))

    encoder = served(tmp_path / "encoder", tmp_path)
    texts = [*UNSEEN, "slow " * 300, "Die Seite lädt nicht"]
    both = np.asarray(load(tmp_path / "encoder").encode(texts)) * encoder.encode(texts)
    assert both.sum(axis=1).min() > 0.99
    assert margin(encoder) > margin(served(base_encoder(), tmp_path))


def test_a_training_that_was_stopped_goes_on_after_its_last_epoch(catalog: Catalog, tmp_path: Path) -> None:
    class Stopped(Kept):
        def note(self, epoch: Epoch) -> None:
            super().note(epoch)
            if epoch.epoch == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, catalog, Stopped())
    log = Kept()
    trained(tmp_path, catalog, log, resume=True)
    assert [e.epoch for e in log.epochs] == [2]
    assert (tmp_path / "encoder" / "modules.json").is_file()
