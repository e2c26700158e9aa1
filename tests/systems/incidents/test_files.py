"""Packed incident files read as they were before, one by one and all together."""

from __future__ import annotations

import lzma
from dataclasses import replace
from pathlib import Path

import pytest

from revelio.errors import DatasetError
from revelio.systems.incidents.exchange import dump_record, read_records, write_records
from revelio.systems.incidents.files import INDEX, IncidentFiles
from revelio.systems.incidents.recorded import RecordedIncidents
from tests.systems.incidents.made import record

IDS = ("forum-a1", "shop-a1", "shop-b2", "shop-c3")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for incident in IDS:
        write_records(tmp_path / f"{incident}.jsonl.xz", [record(incident)])
    return tmp_path


def shards(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.jsonl.xz"))


def test_packing_changes_no_file_nor_their_order(folder: Path) -> None:
    files = IncidentFiles(folder)
    before = {name: files.digest(name) for name in files.names()}
    assert files.pack(files_a_shard=2) == 4
    assert [name.split("-")[0] for name in shards(folder)] == ["forum", "shop", "shop"], "by application, two a shard"
    for reader in (files, IncidentFiles(folder)):
        assert {name: reader.digest(name) for name in reader.names()} == before
    assert [r.id for r in read_records(folder)] == list(IDS)
    assert RecordedIncidents(folder).get("shop-b2").id == "shop-b2"


def test_a_shard_is_plain_json_lines_under_xz(folder: Path) -> None:
    IncidentFiles(folder).pack()
    text = b"".join(lzma.decompress((folder / name).read_bytes()) for name in shards(folder))
    assert text == b"".join(dump_record(record(incident)) for incident in IDS)


def test_a_newer_file_wins_over_the_packed_one_and_is_packed_in_its_place(folder: Path) -> None:
    IncidentFiles(folder).pack(files_a_shard=2)
    kept = shards(folder)
    write_records(folder / "shop-c3.jsonl.xz", [replace(record("shop-c3"), split="repeat")])
    write_records(folder / "shop-d4.jsonl.xz", [record("shop-d4")])
    files = IncidentFiles(folder)
    assert [(r.id, r.split) for r in read_records(folder)][-2:] == [("shop-c3", "repeat"), ("shop-d4", "train")]
    assert files.pack(files_a_shard=2) == 2
    assert [(r.id, r.split) for r in read_records(folder)][-2:] == [("shop-c3", "repeat"), ("shop-d4", "train")]
    assert len(set(kept) & set(shards(folder))) == 2, "shards without a newer file stay"
    assert len(shards(folder)) == 3
    assert files.pack() == 0


def test_packing_that_is_ended_before_the_index_is_written_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(path: Path, content: bytes) -> None:
        if path.name == INDEX:
            raise KeyboardInterrupt
        path.write_bytes(content)

    with monkeypatch.context() as patched:
        patched.setattr("revelio.systems.incidents.files._replace", killed)
        with pytest.raises(KeyboardInterrupt):
            IncidentFiles(folder).pack()
    assert [r.id for r in read_records(folder)] == list(IDS)
    assert IncidentFiles(folder).pack() == 4
    assert [r.id for r in read_records(folder)] == list(IDS)


@pytest.mark.parametrize("text", ["", "[]", '{"shards": {"a": {"b": [1]}}}', '{"shards": {"a": 1}}', '{"shards": []}'])
def test_a_damaged_index_is_named(folder: Path, text: str) -> None:
    (folder / INDEX).write_text(text)
    with pytest.raises(DatasetError, match=r"shards\.json: not an index"):
        list(read_records(folder))


def test_a_missing_shard_is_named(folder: Path) -> None:
    IncidentFiles(folder).pack()
    (folder / shards(folder)[0]).unlink()
    with pytest.raises(DatasetError, match="cannot be read"):
        list(read_records(folder))
