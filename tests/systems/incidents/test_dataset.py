"""Frozen splits are read as they were frozen, or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from revelio.errors import DatasetError
from revelio.systems.incidents.dataset import MANIFEST, file_digest, open_dataset, open_datasets
from revelio.systems.incidents.exchange import write_records
from revelio.types import Query, QueryTemplate
from tests.systems.incidents.made import record


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a1", "a2"):
        write_records(tmp_path / "incidents" / f"{name}.jsonl.xz", [record(name)])
    files = {f"{n}.jsonl.xz": file_digest(tmp_path / "incidents" / f"{n}.jsonl.xz") for n in ("a1", "a2")}
    (tmp_path / MANIFEST).write_text(json.dumps({"splits": {"a1": "train", "a2": "repeat"}, "files": files}))
    return tmp_path


def test_the_manifest_decides_the_split(folder: Path) -> None:
    dataset = open_dataset(folder)
    assert [i.record.id for i in dataset.read("repeat")] == ["a2"]
    assert [i.split for i in dataset.read()] == ["train", "repeat"]


def test_a_changed_or_missing_file_is_refused(folder: Path) -> None:
    path = folder / "incidents" / "a1.jsonl.xz"
    write_records(path, [record("a1"), record("a3")])
    with pytest.raises(DatasetError, match=r"a1\.jsonl\.xz: differs"):
        open_dataset(folder)
    path.unlink()
    with pytest.raises(DatasetError, match="missing"):
        open_dataset(folder)


def test_without_a_manifest_the_records_own_split_counts(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    assert [i.split for i in open_dataset(folder).read("train")] == ["train", "train"]


@pytest.mark.parametrize("content", ["{", "[]", '{"splits": {}}'])
def test_a_damaged_manifest_is_named(folder: Path, content: str) -> None:
    (folder / MANIFEST).write_text(content)
    with pytest.raises(DatasetError, match=r"manifest\.json"):
        open_dataset(folder)


def test_a_folder_that_is_no_dataset_says_so(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="neither"):
        open_dataset(tmp_path / "nowhere")


def test_a_query_has_the_grade_of_its_label_and_else_none(folder: Path) -> None:
    labelled = next(open_dataset(folder).read("train"))
    template = QueryTemplate("states.now", "states", "", "", "")
    assert labelled.grade(Query(template, (("container", "cart"),))) == 3
    assert labelled.grade(Query(template, (("container", "orders"),))) == 0


def test_an_incident_in_two_datasets_is_refused_with_both_folders(folder: Path, tmp_path: Path) -> None:
    write_records(tmp_path / "other" / "incidents" / "all.jsonl", [record("a2")])
    both = open_datasets([(folder, None), (tmp_path / "other", None)])
    assert both.name == f"{folder.name}+other"
    with pytest.raises(DatasetError, match=r"'a2' is in .* and in .*other; rename one"):
        list(both.read())
