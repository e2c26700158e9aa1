"""Retelling changes the reports of recorded runs and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from fault_injection.dataset.freeze import freeze
from fault_injection.dataset.rewrite_reports import ReportersOf, rewrite_reports, writers_for
from revelio.errors import DatasetError, InvalidInputError
from revelio.systems.incidents.dataset import open_dataset
from revelio.systems.incidents.exchange import Note, Report
from revelio.types import Window
from tests.fault_injection.dataset.test_freeze import GOOD, store


@dataclass
class Writer:
    name: str
    silent: bool = False

    def complaints(self, notes: tuple[Note, ...], window: Window) -> tuple[str, ...]:
        return ()

    def choose(
        self, notes: tuple[Note, ...], window: Window, split: str, seed: str, *, site_wide: bool = True
    ) -> tuple[Report, ...]:
        if self.silent or split == "no_fault":
            return ()
        about = "" if site_wide else " and not the whole site"
        return (Report(f"{seed} again{about}", self.name if split != "train" else "w9", "shop/home/slow"),)


def by(writer: Writer) -> ReportersOf:
    return lambda app, split: writer


def test_only_the_reports_change_and_runs_without_a_text_are_left_out(tmp_path: Path) -> None:
    freeze(store(tmp_path / "old", *GOOD))
    assert rewrite_reports(tmp_path / "old", tmp_path / "new", by(Writer("w13"))) == {"train": 2, "repeat": 1, "new_location": 1}
    for item in open_dataset(tmp_path / "new").read():
        original = next(r for r in GOOD if r.id == item.record.id)
        assert item.record.reports[0].text == f"{original.id} again"
        assert replace(item.record, reports=original.reports) == original


def test_one_split_can_be_told_alone(tmp_path: Path) -> None:
    freeze(store(tmp_path / "old", *GOOD))
    assert rewrite_reports(tmp_path / "old", tmp_path / "new", by(Writer("w6")), splits=("repeat",)) == {"repeat": 1}


def test_a_training_writer_in_a_test_split_is_refused(tmp_path: Path) -> None:
    freeze(store(tmp_path / "old", *GOOD))
    with pytest.raises(DatasetError, match=r"b \(repeat\) has a report by w1"):
        rewrite_reports(tmp_path / "old", tmp_path / "new", by(Writer("w1")))


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    freeze(store(tmp_path / "old", *GOOD))
    with pytest.raises(InvalidInputError, match="holds incidents already"):
        rewrite_reports(tmp_path / "old", tmp_path / "old", by(Writer("w6")))


def test_writers_with_nothing_to_say_are_an_error(tmp_path: Path) -> None:
    freeze(store(tmp_path / "old", *GOOD))
    with pytest.raises(DatasetError, match="no text of these writers fits any incident"):
        rewrite_reports(tmp_path / "old", tmp_path / "new", by(Writer("w6", silent=True)))


def test_writers_of_no_list_may_write_for_tests_and_each_application_has_its_own_reporters(tmp_path: Path) -> None:
    freeze(store(tmp_path / "old", *GOOD, replace(GOOD[1], id="z", system="forum", split="new_app")))
    asked: set[tuple[str, str]] = set()

    def reporters_of(app: str, split: str) -> Writer | None:
        asked.add((app, split))
        return Writer(f"of-{app}") if split != "train" else None

    assert rewrite_reports(tmp_path / "old", tmp_path / "new", reporters_of) == {"repeat": 1, "new_location": 1, "new_app": 1}
    writers = {item.record.system: item.record.reports[0].writer for item in open_dataset(tmp_path / "new").read()}
    assert writers == {"shop": "of-shop", "forum": "of-forum"}
    assert ("forum", "new_app") in asked
    assert rewrite_reports(tmp_path / "old", tmp_path / "one", reporters_of, apps=("forum",)) == {"new_app": 1}


@pytest.mark.parametrize(("split", "allowed"), [("train", ("w1",)), ("repeat", ("w6", "mine")), ("new_app", ("w6", "mine"))])
def test_test_writers_and_unknown_writers_never_write_for_training(split: str, allowed: tuple[str, ...]) -> None:
    assert writers_for(split, ("w1", "w6", "mine")) == allowed


def test_of_two_faults_in_one_run_no_user_speaks_for_the_whole_site(tmp_path: Path) -> None:
    one, other = (replace(GOOD[1], id=name, run="r") for name in ("ra", "rb"))
    freeze(store(tmp_path / "old", *GOOD, one, other))
    rewrite_reports(tmp_path / "old", tmp_path / "new", by(Writer("w6")), splits=("repeat",))
    texts = {item.record.id: item.record.reports[0].text for item in open_dataset(tmp_path / "new").read()}
    assert texts == {"b": "b again", "ra": "ra again and not the whole site", "rb": "rb again and not the whole site"}
