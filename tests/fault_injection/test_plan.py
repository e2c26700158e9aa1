"""A plan expands to the same runs every time, keeps held-out places out of training, and says what is wrong with it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fault_injection.plan import ControlPlan, FaultPlan, Plan, expand, load_plan
from revelio.errors import InvalidInputError

FIRST_LIGHT = Path("fault_injection/plans/first_light.yaml")
PLAN = Plan(
    app="shop",
    seed=3,
    faults=(
        FaultPlan(
            kind="container_pause",
            places=("cart", "redis"),
            held_out=("orders",),
            strengths=("whole", "intermittent"),
            train=2,
            repeat=1,
            new_location=1,
        ),
    ),
    controls=(ControlPlan(kind="none", train=2, no_fault=1), ControlPlan(kind="benign_deploy", train=1, no_fault=1)),
)


def test_runs_are_counted_as_the_plan_says() -> None:
    assert Counter(r.split for r in expand(PLAN)) == {"train": 11, "repeat": 2, "new_location": 2, "no_fault": 2}


def test_held_out_places_are_in_new_location_only() -> None:
    held = [r.split for r in expand(PLAN) if r.fault.place == "orders" and r.fault.kind == "container_pause"]
    assert held == ["new_location", "new_location"]


def test_the_order_is_random_and_repeatable() -> None:
    runs = expand(PLAN)
    assert runs == expand(PLAN)
    assert runs != expand(PLAN.model_copy(update={"seed": 4}))
    assert [r.split for r in runs] != sorted((r.split for r in runs), reverse=True)


def test_an_id_is_unique_and_tells_nothing_of_its_fault() -> None:
    runs = expand(PLAN)
    assert len({r.id for r in runs}) == len(runs)
    for run in runs:
        words = {run.fault.kind, run.fault.place, run.fault.strength, run.split} - {"-"}
        assert not any(word in run.id for word in words)


def test_the_bundled_plan_has_controls_held_out_places_and_a_test_share() -> None:
    runs = expand(load_plan(FIRST_LIGHT))
    splits = Counter(r.split for r in runs)
    controls = sum(r.fault.kind in ("none", "benign_spike", "benign_deploy") for r in runs)
    assert 70 <= len(runs) <= 80
    assert controls / len(runs) >= 0.15
    assert 0.3 <= 1 - splits["train"] / len(runs) <= 0.45
    assert set(splits) == {"train", "repeat", "new_location", "no_fault"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("app: shop\nfaults: [{kind: gremlin, places: [cart], strengths: [whole]}]", "no fault kind 'gremlin'"),
        ("app: shop\nfaults: [{kind: container_pause, places: [moon], strengths: [whole]}]", "cannot be applied at 'moon'"),
        ("app: shop\nfaults: [{kind: container_pause, places: [cart], strengths: [mad]}]", "no strength 'mad'"),
        (
            "app: shop\nfaults: [{kind: container_pause, places: [cart], held_out: [cart], strengths: [whole]}]",
            "cart is both trained on and held out",
        ),
        ("app: shop\nwindow: 3", "window: Extra inputs are not permitted"),
        ("app: shop\nbaseline_s: 0", "baseline_s: Input should be greater than 0"),
        ("{", "cannot be read"),
    ],
)
def test_a_wrong_plan_is_refused_and_the_message_names_the_entry(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        load_plan(path)
