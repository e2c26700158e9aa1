"""Every system is left out in turn, and no incident of it is trained on."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from revelio.catalog import Catalog
from revelio.errors import DatasetError
from revelio.ranker.artifact import load_ranker
from revelio.ranker.session import Ranker
from revelio.settings import BUNDLED
from revelio.systems.incidents.dataset import Dataset, LabelledIncident, open_datasets
from revelio.systems.incidents.exchange import write_records
from tests.cli.test_foreign_catalog import CATALOG, KINDS, PLACES, incident
from tests.ranker.conftest import PLACES as PARTS
from tests.ranker.conftest import catalog, catalog_file, labelled  # noqa: F401

pytest.importorskip("torch")

from revelio.training.arguments import TrainArguments
from revelio.training.evaluation import systems as module
from revelio.training.evaluation.systems import MEAN, leave_one_out
from revelio.training.train import train

MODEL = BUNDLED / "model"
METHODS = {"model", "random", "deviation_count", "bm25", "lambda_rank", "today"}


@pytest.fixture
def datasets(tmp_path: Path) -> Dataset:
    """A folder with two systems of one catalog, and a folder with a third one of its own."""
    ours = [labelled(i, ("hog", "bug", "stop")[i % 3], PARTS[i % 5]) for i in range(12)]
    records = [replace(x.record, system=("shop", "forum")[i % 2]) for i, x in enumerate(ours)]
    theirs = [incident(i, tuple(KINDS)[i % 3], PLACES[i % 4], "repeat") for i in range(7)]
    write_records(tmp_path / "ours" / "incidents" / "all.jsonl", records)
    write_records(tmp_path / "theirs" / "incidents" / "all.jsonl", [replace(r, id=f"t{r.id}") for r in theirs])
    (tmp_path / "theirs" / "catalog.yaml").write_text(CATALOG)
    return open_datasets([(tmp_path / "ours", None), (tmp_path / "theirs", None)])


def arguments(folder: Path, known: Catalog) -> TrainArguments:
    return TrainArguments(folder, folder / "work", known, device="cpu", epochs=1, folds=0, members=1, encoder=MODEL)


def test_each_system_is_scored_by_every_method_and_the_mean_weighs_them_equally(
    datasets: Dataset,
    catalog: Catalog,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: dict[str, tuple[set[str], set[str]]] = {}

    def watched(arguments: TrainArguments, progress: object, part: Dataset) -> object:
        known, unknown = ({i.record.system for i in part.read(split)} for split in ("train", "new_app"))
        seen[next(iter(unknown))] = (known, unknown)
        return train(arguments, dataset=part)

    monkeypatch.setattr(module, "train", watched)
    today = load_ranker(MODEL, datasets.all_tools(catalog))
    found = leave_one_out(datasets, arguments(tmp_path, catalog), today, 5)
    assert seen == {s: ({"shop", "forum", "theirs"} - {s}, {s}) for s in ("shop", "forum", "theirs")}
    assert {(f.system, f.method) for f in found} == {(s, m) for s in (*seen, MEAN) for m in METHODS}
    each = {f.method: [x for x in found if x.method == f.method and x.system != MEAN] for f in found}
    for mean in (f for f in found if f.system == MEAN):
        assert mean.incidents == sum(x.incidents for x in each[mean.method]) == 15, "at most 5 of each system"
        assert mean.top1 == pytest.approx(sum(x.top1 for x in each[mean.method]) / 3)
        assert mean.top1_ci95 is None
    counted = [f for f in found if f.method == "deviation_count" and f.system == "shop"]
    assert counted[0].place_top1 > 0.5

    trained: list[object] = []
    monkeypatch.setattr(module, "train", lambda *arguments: trained.append(arguments))
    assert leave_one_out(datasets, arguments(tmp_path, catalog), today, 5) == found
    assert trained == [], "what is there is not trained again"


def test_incidents_that_a_model_was_adapted_to_are_scored_by_no_method(
    datasets: Dataset,
    catalog: Catalog,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[list[str]] = []

    def adapt(ranker: Ranker, incidents: Sequence[LabelledIncident]) -> Ranker:
        shown.append([i.record.id for i in incidents])
        return ranker

    monkeypatch.setattr(module, "MIN_SCORED", 2)
    today = load_ranker(MODEL, datasets.all_tools(catalog))
    monkeypatch.setattr(module, "train", lambda arguments, steps, part: shutil.copytree(MODEL, arguments.out))
    found = leave_one_out(datasets, arguments(tmp_path, catalog), today, 5, own=(1, 3), adapt=adapt)
    assert [len(ids) for ids in shown] == [1, 3] * 3
    assert all(few == more[:1] for few, more in zip(shown[::2], shown[1::2], strict=True)), "the same ones and more"
    assert {f.method for f in found} == METHODS | {"own_1", "own_3"}
    assert {f.incidents for f in found if f.system != MEAN} == {2}


def test_one_system_alone_cannot_be_left_out(datasets: Dataset, catalog: Catalog, tmp_path: Path) -> None:  # noqa: F811
    alone = replace(datasets.others[0], others=())
    with pytest.raises(DatasetError, match="needs 2 systems"):
        leave_one_out(alone, arguments(tmp_path, catalog), load_ranker(MODEL), 5)
