"""The index in the process: it finds what is nearest, and its file is only ever whole or made again."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from revelio.encoders.report import Floats
from revelio.retrieval.faiss_index import FaissIndex
from revelio.retrieval.index import Item

D = 8


def unit(*values: float) -> Floats:
    vector = np.zeros(D, dtype=np.float32)
    vector[: len(values)] = values
    return vector / np.float32(np.linalg.norm(vector))


ITEMS = (Item("a", unit(1), "shop"), Item("b", unit(1, 0.5), "shop"), Item("c", unit(0, 1), "forum"))


def filled(path: Path) -> FaissIndex:
    index = FaissIndex(path, "model-1", D)
    index.add(ITEMS)
    index.close()
    return index


def test_the_nearest_come_first_of_all_groups_of_one_and_of_the_others(tmp_path: Path) -> None:
    index = filled(tmp_path / "i")
    assert [hit.id for hit in index.search(unit(1), 3)] == ["a", "b", "c"]
    assert [hit.id for hit in index.search(unit(0, 1), 3, inside="shop")] == ["b", "a"]
    assert [hit.id for hit in index.search(unit(1), 3, outside="shop")] == ["c"]
    assert index.search(unit(1), 3, inside="travel") == ()
    assert index.search(unit(1), 1)[0].score == pytest.approx(1.0)


def test_an_item_is_replaced_by_one_with_its_id_and_can_be_removed(tmp_path: Path) -> None:
    index = filled(tmp_path / "i")
    index.add([Item("a", unit(0, 0, 1), "forum")])
    index.remove(["c", "never there"])
    assert index.ids() == {"a", "b"}
    assert [hit.id for hit in index.search(unit(0, 0, 1), 1, inside="forum")] == ["a"]


def test_the_file_brings_everything_back(tmp_path: Path) -> None:
    filled(tmp_path / "i")
    again = FaissIndex(tmp_path / "i", "model-1", D)
    assert again.ids() == {"a", "b", "c"}
    assert [hit.id for hit in again.search(unit(0, 1), 1)] == ["c"]
    assert (tmp_path / "i").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", [lambda data: data[:-3], lambda data: data[:40] + b"x" + data[41:], lambda data: b""])
def test_a_damaged_file_counts_as_empty_and_is_written_again(tmp_path: Path, damage: object) -> None:
    path = tmp_path / "i"
    filled(path)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    index = FaissIndex(path, "model-1", D)
    assert index.ids() == frozenset()
    index.rebuild(ITEMS)
    assert FaissIndex(path, "model-1", D).ids() == {"a", "b", "c"}


def test_vectors_of_another_model_are_not_used(tmp_path: Path) -> None:
    filled(tmp_path / "i")
    assert FaissIndex(tmp_path / "i", "model-2", D).ids() == frozenset()


def test_a_folder_that_cannot_be_written_leaves_the_index_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    index = FaissIndex(tmp_path / "file" / "i", "model-1", D)
    index.add(ITEMS)
    assert [hit.id for hit in index.search(unit(1), 1)] == ["a"]


def _write_for_ever(path: Path) -> None:
    index = FaissIndex(path, "model-1", D)
    while True:
        index.rebuild(ITEMS)


def test_a_process_that_is_killed_while_writing_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "i"
    filled(path)
    for wait in (0.0, 0.004, 0.009):
        process = multiprocessing.get_context("spawn").Process(target=_write_for_ever, args=(path,))
        process.start()
        before = path.stat().st_mtime_ns
        deadline = time.monotonic() + 30.0
        while path.stat().st_mtime_ns == before and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(wait)
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        assert FaissIndex(path, "model-1", D).ids() == {"a", "b", "c"}
