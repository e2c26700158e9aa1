"""The plan that shows every template leaves none out, as far as its labels can tell without a running application."""

from __future__ import annotations

from pathlib import Path

import pytest

from fault_injection.campaigns.plan import Run, expand, load_plan
from fault_injection.kinds import kind_named
from fault_injection.labels import load_labels
from revelio.catalog import bundled_catalog
from revelio.catalog.unreachable import asks_presence

PLAN = Path(__file__).parents[3] / "fault_injection" / "plans" / "every_template.yaml"


@pytest.fixture(scope="module")
def runs() -> tuple[Run, ...]:
    """The plan's."""
    return expand(load_plan(PLAN))


def test_every_template_is_a_right_answer_in_some_run_of_the_plan(runs: tuple[Run, ...]) -> None:
    labels = load_labels()
    right = {
        entry.template for run in runs for entry in labels.get(run.fault.kind, ()) if not entry.at or run.fault.place in entry.at
    }
    shown_somewhere = {entry.template for entries in labels.values() for entry in entries}
    assert shown_somewhere <= right
    elsewhere = {t.id for t in bundled_catalog().templates if not asks_presence(t)} - right
    assert {template.partition(".")[0] for template in elsewhere} <= {"prometheus", "kubernetes", "mysql"}, (
        "the testbed runs no such source"
    )
    assert len(right) >= 95


def test_the_plan_is_small_and_has_runs_in_which_nothing_is_wrong(runs: tuple[Run, ...]) -> None:
    controls = [run for run in runs if kind_named(run.fault.kind).category == "control"]
    assert len(controls) == 2 and len(runs) <= 35
    assert {run.app for run in runs} == {"shop"}
