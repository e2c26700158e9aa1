"""A model folder is shown as far as it can be read."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from revelio.settings import BUNDLED
from revelio.systems.incidents.dataset import grown_from, open_dataset
from revelio.training.evaluation.metrics import Bin
from revelio.training.evaluation.results import ControlFigures, Evaluation, FaultFigures
from webui.views.model import EVALUATION, read_model_folder

FAULTS = FaultFigures(
    14,
    65,
    0,
    0,
    0.857,
    1.0,
    1.0,
    0.929,
    1.1,
    0.9,
    1.0,
    0.9,
    0.9,
    0.82,
    0.066,
    0.05,
    0.1,
    {"top1": (0.64, 1.0)},
    (Bin(0.7, 0.65, 20), Bin(0.95, 0.9, 45)),
)
CONTROLS = ControlFigures(6, 24, 0, 0.97, 0.9, {})


def evaluated(folder: Path) -> None:
    """Put an evaluation there, in the form that the command prints."""
    found = Evaluation("revelio-1", "abc", {"repeat": FAULTS, "no_fault": CONTROLS})
    (folder / EVALUATION).write_text(json.dumps(asdict(found) | {"failed": 0}), encoding="utf-8")


def test_an_evaluation_is_read_as_the_command_writes_it(tmp_path: Path) -> None:
    evaluated(tmp_path)
    folder = read_model_folder(tmp_path)
    assert folder.evaluation is not None
    repeat = folder.evaluation.splits["repeat"]
    assert (repeat.top1, repeat.ci95["top1"], repeat.auroc) == (0.857, (0.64, 1.0), None)
    assert [b.count for b in repeat.reliability] == [20, 45]
    assert folder.evaluation.splits["no_fault"].auroc == 0.97


def test_what_is_damaged_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{", encoding="utf-8")
    (tmp_path / EVALUATION).write_text('{"model": 1}', encoding="utf-8")
    (tmp_path / "model_card.md").write_text("# Mine\n\nSee *this*.", encoding="utf-8")
    folder = read_model_folder(tmp_path)
    assert "manifest.json: damaged" in folder.trouble
    assert "evaluation.json cannot be read" in folder.evaluation_trouble
    assert "<h3>Mine</h3>" in folder.card
    assert "<em>this</em>" in folder.card


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    folder = read_model_folder(tmp_path / "nope")
    assert (folder.manifest, folder.card, folder.evaluation) == (None, "", None)
    assert folder.trouble


def test_a_card_brings_no_markup_pictures_or_scripts_of_its_own(tmp_path: Path) -> None:
    card = "<script>alert(1)</script>\n\n![x](http://elsewhere/p.png)\n\n[x](javascript:alert(1))"
    (tmp_path / "model_card.md").write_text(card, encoding="utf-8")
    shown = read_model_folder(tmp_path).card
    assert "<script" not in shown
    assert "<img" not in shown
    assert 'href="javascript' not in shown


def test_the_bundled_evaluation_is_of_the_bundled_model_on_the_dataset_it_names() -> None:
    """Figures that nobody measured must not be shown: those of another model, or of no dataset here."""
    folder = read_model_folder(BUNDLED / "model")
    assert folder.manifest is not None and folder.evaluation is not None
    assert folder.evaluation.model == folder.manifest.name
    name, _, digest = folder.evaluation.dataset.partition("@")
    assert digest == open_dataset(Path("data") / name, verify=False).digest
    assert folder.manifest.dataset in (digest, *grown_from(Path("data") / name)), "what is a test today may have been learnt"
