"""The dataset's card says what is recorded and frozen, and its page is held to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fault_injection.dataset.accepted_features import AcceptedFeatures, load_accepted_features
from fault_injection.dataset.card import block_in, blocks, features_table, figures, line_of_manifest, put
from fault_injection.dataset.freeze import freeze
from revelio.errors import DatasetError, InvalidInputError
from revelio.systems.incidents.exchange import Label
from tests.fault_injection.dataset.test_freeze import GOOD, store

DATA, PAGE = Path("data/three_apps"), Path("docs/dataset.md")
WRITE = f"`revelio campaign card --out {DATA} --write {PAGE}`"


def test_the_cards_figures_are_those_of_the_manifest() -> None:
    shown = block_in(PAGE.read_text(encoding="utf-8"), "figures").splitlines()
    assert shown[:1] == [line_of_manifest(DATA)], f"the dataset was frozen anew; run {WRITE} and commit the result"


def test_the_page_discusses_the_marks_that_the_file_has() -> None:
    shown = block_in(PAGE.read_text(encoding="utf-8"), "features")
    assert shown == features_table(load_accepted_features()), (
        f"leakage_features.yaml was changed; run {WRITE} and commit the result"
    )


def test_figures_count_by_split_kind_and_application(tmp_path: Path) -> None:
    labelled = replace(GOOD[0], labels=(Label("t", (), 3, 0.9, 0.0, True), Label("u", (), 1, 0.0, None, False)))
    store(tmp_path, labelled, *GOOD[1:])
    freeze(tmp_path)
    told = figures(tmp_path)
    assert (told.incidents, told.controls, told.reports, told.writers, told.labels) == (5, 2, 5, 4, (2, 1))
    assert told.splits["train"] == {"shop": 2}
    assert told.kinds["component"] == {"container_pause": {"shop": 3}}
    assert told.shown == pytest.approx(1 / 3)
    made = blocks(told, AcceptedFeatures())["figures"]
    assert made.splitlines()[0] == line_of_manifest(tmp_path)
    assert "| train | 2 | 2 |" in made


def test_a_dataset_that_is_not_frozen_has_no_card(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="campaign freeze"):
        figures(store(tmp_path, *GOOD))


def test_blocks_are_put_in_their_places_and_nothing_else_of_the_page_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- a -->\nold\n<!-- end of a -->\nafter\n")
    put(page, {"a": "new"})
    assert page.read_text() == "before\n<!-- a -->\nnew\n<!-- end of a -->\nafter\n"
    assert block_in(page.read_text(), "a") == "new"


def test_a_page_without_a_place_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- a -->\nold\n<!-- end of a -->\n")
    with pytest.raises(InvalidInputError, match="no place for b"):
        put(page, {"a": "new", "b": "new"})
    assert "old" in page.read_text()
