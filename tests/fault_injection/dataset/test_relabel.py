"""Labels are judged anew from what was recorded, and nothing else of a record changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import fault_injection.dataset.relabel as relabel_module
from fault_injection.dataset.relabel import relabel
from fault_injection.labels import Accepted
from revelio.errors import DatasetError
from revelio.systems.incidents.exchange import FaultRecord, Record, read_records
from revelio.systems.incidents.files import IncidentFiles
from revelio.types import Entity, Evidence, RecordedResult, Result, Window
from tests.fault_injection.campaigns.test_campaign import CATALOG
from tests.fault_injection.dataset.test_freeze import CONTROL, store

CART = (("container", "cart"),)
SEEN = Evidence(Window(20, 40), Window(0, 20), (Entity("container", "cart"),))


def record(name: str, signal: float, healthy: float | None) -> Record:
    results = (RecordedResult("state", CART, Result("paused", signal, "paused"), healthy),)
    fault = FaultRecord("container_pause", "component", "cart", "whole")
    return Record(name, "shop", 40.0, SEEN, results=results, fault=fault, split="train")


@pytest.fixture(autouse=True)
def labels(monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = {"container_pause": (Accepted(template="state", grade=2, blanks={"container": "place"}),)}
    monkeypatch.setattr(relabel_module, "load_labels", lambda: accepted)


@pytest.mark.parametrize(
    ("signal", "healthy", "proven"), [(0.9, 0.0, True), (0.9, 0.9, False), (0.2, 0.0, False), (0.9, None, False)]
)
def test_a_label_is_proven_when_its_signal_was_there_and_not_before(
    tmp_path: Path, signal: float, healthy: float | None, proven: bool
) -> None:
    store(tmp_path, record("a", signal, healthy))
    assert relabel(tmp_path, CATALOG) == {"container_pause": 1}
    (found,) = read_records(tmp_path / "incidents")
    (label,) = found.labels
    assert (label.grade, label.proven) == (2, proven)
    assert replace(found, labels=(), results=()) == replace(record("a", signal, healthy), results=())
    assert [(r.result.signal, r.healthy_signal) for r in found.results] == [(signal, healthy)]


def test_what_is_judged_alike_is_not_written_again(tmp_path: Path) -> None:
    store(tmp_path, record("a", 0.9, 0.0), replace(record("b", 0.9, 0.0), fault=CONTROL))
    assert relabel(tmp_path, CATALOG) == {"container_pause": 1}
    assert relabel(tmp_path, CATALOG) == {}


def test_a_folder_without_incidents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="run a campaign first"):
        relabel(tmp_path, CATALOG)


def test_a_changed_incident_wins_over_the_one_that_was_packed(tmp_path: Path) -> None:
    store(tmp_path, record("a", 0.9, 0.0), record("b", 0.9, 0.0))
    IncidentFiles(tmp_path / "incidents").pack()
    assert relabel(tmp_path, CATALOG) == {"container_pause": 2}
    assert relabel(tmp_path, CATALOG) == {}
    assert [len(r.labels) for r in read_records(tmp_path / "incidents")] == [1, 1]


def test_of_two_faults_in_one_run_a_right_answer_for_both_counts_least_unless_it_names_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_place = Accepted(template="state", grade=3, blanks={"container": "place"})
    anywhere = Accepted(template="state", grade=2)
    monkeypatch.setattr(relabel_module, "load_labels", lambda: {"container_pause": (at_place,), "delay": (anywhere,)})
    pause = replace(record("ra", 0.9, 0.0), run="r")
    delay = replace(record("rb", 0.9, 0.0), run="r", fault=FaultRecord("delay", "network", "orders", "hard"))
    alone = replace(delay, id="s", run="")
    store(tmp_path, pause, delay, alone)
    relabel(tmp_path, CATALOG)
    assert {r.id: [label.grade for label in r.labels] for r in read_records(tmp_path / "incidents")} == {
        "ra": [3],
        "rb": [1],
        "s": [2],
    }
