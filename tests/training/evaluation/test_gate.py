"""Figures that fell since they were kept."""

from __future__ import annotations

from typing import Any

import pytest

from revelio.training.evaluation.gate import Fall, falls

KEPT = {
    "splits": {
        "repeat": {"incidents": 100, "top1": 0.9, "top3": 1.0, "accepted_top1": 0.95, "abstained": 0.1},
        "no_fault": {"incidents": 100, "auroc": 0.99, "abstained": 0.8},
    }
}


def measured(split: str, name: str, value: float) -> dict[str, Any]:
    return {"splits": {**KEPT["splits"], split: {**KEPT["splits"][split], name: value}}}


@pytest.mark.parametrize(
    ("split", "name"), [("repeat", "top1"), ("repeat", "top3"), ("no_fault", "auroc"), ("no_fault", "abstained")]
)
def test_a_figure_that_is_lower_by_more_than_the_tolerance_is_named(split: str, name: str) -> None:
    before = KEPT["splits"][split][name]
    assert falls(KEPT, measured(split, name, before - 0.03)) == (Fall(f"{split} {name}", before, before - 0.03),)
    assert falls(KEPT, measured(split, name, before - 0.01)) == ()


def test_a_figure_of_few_incidents_may_fall_by_one_of_them() -> None:
    kept, one, two = ({"splits": {"repeat": {"incidents": 24, "top1": hits / 24}}} for hits in (12, 11, 10))
    assert falls(kept, one) == ()
    assert [fall.figure for fall in falls(kept, two)] == ["repeat top1"]


def test_fewer_false_abstentions_are_no_fall() -> None:
    assert falls(KEPT, measured("repeat", "abstained", 0.0)) == ()


def test_a_split_that_was_not_measured_is_a_fall() -> None:
    found = {"splits": {"repeat": KEPT["splits"]["repeat"]}}
    assert {(f.figure, f.now) for f in falls(KEPT, found)} == {("no_fault auroc", None), ("no_fault abstained", None)}


def test_what_the_report_is_worth_is_compared_by_set() -> None:
    kept = {"listening": [{"name": "two at once", "incidents": 95, "top1": 0.6, "top3": 0.8, "worth": 0.2, "follows": None}]}
    now = {"listening": [{"name": "two at once", "incidents": 95, "top1": 0.6, "top3": 0.8, "worth": 0.1, "follows": None}]}
    assert [f.figure for f in falls(kept, now)] == ["two at once worth"]


@pytest.mark.parametrize(
    "kept", [{}, {"splits": []}, {"splits": {"repeat": 3}}, {"listening": [{"top1": 1.0}]}, {"splits": {"x": {}}}]
)
def test_a_file_without_figures_is_an_error(kept: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"revelio eval|none of the figures"):
        falls(kept, KEPT)
