"""A frozen dataset names every file by its hash, and leaks are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fault_injection.campaigns.status import status
from fault_injection.dataset.freeze import freeze
from revelio.errors import DatasetError
from revelio.systems.incidents.dataset import grown_from, open_dataset
from revelio.systems.incidents.exchange import FaultRecord, Record, Report, write_records
from revelio.types import Evidence, Window

SEEN = Evidence(window=Window(20, 40), baseline=Window(0, 20))
PAUSE = FaultRecord("container_pause", "component", "cart", "whole")
CONTROL = FaultRecord("none", "control", "-", "none")


def record(name: str, split: str, writer: str, fault: FaultRecord = PAUSE) -> Record:
    return Record(name, "shop", 40.0, SEEN, reports=(Report("broken", writer, "shop/cart_view/error"),), fault=fault, split=split)


GOOD = (
    record("a", "train", "w1"),
    record("b", "repeat", "w6"),
    record("c", "new_location", "w13", replace(PAUSE, place="orders")),
    record("d", "no_fault", "w6", CONTROL),
    record("e", "train", "w2", CONTROL),
)


def store(out: Path, *records: Record) -> Path:
    for item in records:
        write_records(out / "incidents" / f"{item.id}.jsonl.xz", [item])
    return out


def test_a_frozen_dataset_opens_and_keeps_its_splits(tmp_path: Path) -> None:
    assert freeze(store(tmp_path, *GOOD)) == {"train": 2, "repeat": 1, "new_location": 1, "no_fault": 1}
    dataset = open_dataset(tmp_path)
    assert {x.record.id: x.split for x in dataset.read("repeat", "new_location")} == {"b": "repeat", "c": "new_location"}


def test_a_file_changed_after_freezing_is_found_out(tmp_path: Path) -> None:
    freeze(store(tmp_path, *GOOD))
    store(tmp_path, replace(GOOD[0], opened_at=41.0))
    with pytest.raises(DatasetError, match=r"a\.jsonl\.xz: differs from what"):
        open_dataset(tmp_path)


def test_a_dataset_that_grew_knows_what_it_has_grown_from(tmp_path: Path) -> None:
    freeze(store(tmp_path, *GOOD[:3]))
    first = open_dataset(tmp_path).digest
    assert grown_from(tmp_path) == ()
    freeze(store(tmp_path, GOOD[3]))
    second = open_dataset(tmp_path).digest
    freeze(store(tmp_path, GOOD[4]))
    assert grown_from(tmp_path) == (first, second)


@pytest.mark.parametrize("moved", [True, False])
def test_once_an_incident_has_moved_or_is_gone_nothing_that_was_frozen_before_counts(tmp_path: Path, moved: bool) -> None:
    freeze(store(tmp_path, *GOOD))
    freeze(store(tmp_path, record("f", "repeat", "w6")))
    assert len(grown_from(tmp_path)) == 1
    if moved:
        store(tmp_path, record("f", "train", "w1"))
    else:
        (tmp_path / "incidents" / "f.jsonl.xz").unlink()
    freeze(tmp_path)
    assert grown_from(tmp_path) == ()


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (record("x", "new_location", "w6"), "container_pause at cart is held out, yet trained on"),
        (record("x", "train", "w6"), r"x \(train\) has a report by w6"),
        (record("x", "repeat", "w1"), r"x \(repeat\) has a report by w1"),
        (record("x", "no_fault", "w6"), "in no_fault but has a fault"),
        (record("x", "new_fault", "w6"), "container_pause is held out, yet trained on"),
        (record("x", "new_app", "w6"), "shop is held out, yet trained on"),
        (record("x", "holiday", "w6"), "split 'holiday' is none of"),
    ],
)
def test_a_leak_is_refused_by_name(tmp_path: Path, extra: Record, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        freeze(store(tmp_path, *GOOD, extra))


def test_a_writer_of_no_list_may_write_for_tests_but_not_for_training_too(tmp_path: Path) -> None:
    assert freeze(store(tmp_path, *GOOD, record("x", "repeat", "mine")))["repeat"] == 2
    with pytest.raises(DatasetError, match=r"x \(repeat\) has a report by mine"):
        freeze(store(tmp_path, record("y", "train", "mine")))


def test_a_place_that_is_trained_on_may_be_held_out_in_another_application(tmp_path: Path) -> None:
    elsewhere = replace(record("x", "new_location", "w6"), system="forum")
    assert freeze(store(tmp_path, *GOOD, elsewhere))["new_location"] == 2


DELAY = FaultRecord("delay", "network", "orders", "hard")


def a_run(name: str, split: str, writer: str, *faults: FaultRecord) -> list[Record]:
    return [replace(record(f"{name}{n}", split, writer, fault), run=name) for n, fault in enumerate(faults)]


def test_two_incidents_of_one_run_in_different_splits_are_refused(tmp_path: Path) -> None:
    one, other = a_run("r", "repeat", "w6", PAUSE, DELAY)
    with pytest.raises(DatasetError, match="run r: its incidents are in different splits: no_fault, repeat"):
        freeze(store(tmp_path, *GOOD, one, replace(other, split="no_fault", fault=CONTROL)))


def test_a_pairing_that_is_new_must_not_be_trained_on_though_its_kinds_may(tmp_path: Path) -> None:
    new = a_run("n", "new_fault", "w6", PAUSE, DELAY)
    trained = a_run("t", "train", "w1", PAUSE, replace(DELAY, category="database"))
    assert freeze(store(tmp_path, *GOOD, *new, *trained))["new_fault"] == 2
    with pytest.raises(DatasetError, match="run n: component and network at once are held out, yet trained on"):
        freeze(store(tmp_path, *a_run("u", "train", "w1", PAUSE, DELAY)))


def test_noise_that_is_new_must_not_be_around_training(tmp_path: Path) -> None:
    noise = (FaultRecord("error_log", "noise", "users", "often"),)
    new = replace(record("n", "new_fault", "w6", DELAY), noise=noise)
    assert freeze(store(tmp_path, *GOOD, new, replace(GOOD[1], noise=noise)))["new_fault"] == 1
    with pytest.raises(DatasetError, match=r"n \(new_fault\): its noise error_log is trained on"):
        freeze(store(tmp_path, replace(GOOD[0], noise=noise)))


def test_status_counts_a_run_of_two_faults_once(tmp_path: Path) -> None:
    found = status(store(tmp_path, *GOOD, *a_run("r", "repeat", "w6", PAUSE, DELAY)))
    assert (found.incidents, found.runs) == (7, 6)


def test_the_same_run_twice_is_refused(tmp_path: Path) -> None:
    store(tmp_path, *GOOD)
    write_records(tmp_path / "incidents" / "copy.jsonl.xz", [GOOD[0]])
    with pytest.raises(DatasetError, match="incident a is there twice"):
        freeze(tmp_path)


def test_freezing_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="holds no incidents"):
        freeze(tmp_path)


def test_status_counts_incidents_and_discarded_runs(tmp_path: Path) -> None:
    store(tmp_path, *GOOD)
    line = json.dumps({"run": "z", "stage": "not healthy", "reason": "cart is slow"})
    (tmp_path / "void.jsonl").write_text(line + "\n" + line[:10])
    found = status(tmp_path)
    assert (found.incidents, found.reports, found.discarded) == (5, 5, {"not healthy": 1})
    assert found.by_kind == {"container_pause": 3, "none": 2}
