"""A plan expands to the same runs every time, keeps held-out places out of training, and says what is wrong with it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fault_injection.campaigns.plan import AppPlan, FaultPlan, Plan, Share, expand, load_plan
from fault_injection.kinds import kind_named, kinds
from fault_injection.spec import HARMLESS
from revelio.errors import InvalidInputError

PLANS = sorted(p for p in Path("fault_injection/plans").glob("*.yaml") if p.stem != "every_template")
"""Those that a dataset is made of; the one left out proves questions, and nothing is trained on it."""
THREE_APPS = Path("fault_injection/plans/three_apps.yaml")
PAUSE = FaultPlan(runs=Share(train=4, repeat=2, new_location=2), places=("cart", "redis"), held_out=("orders",))
SHOP = AppPlan(
    each=Share(train=3),
    faults={"container_pause": PAUSE, "container_stop": FaultPlan(), "container_kill": FaultPlan(runs=Share(new_fault=2))},
    controls={"none": Share(train=2, no_fault=1), "benign_deploy": Share(train=1, no_fault=1)},
)
PLAN = Plan(seed=3, apps={"shop": SHOP, "travel": AppPlan(faults={"delay": FaultPlan(runs=Share(new_app=2))})})


def test_runs_are_counted_as_the_plan_says() -> None:
    assert Counter(r.split for r in expand(PLAN)) == {
        "train": 10,
        "repeat": 2,
        "new_location": 2,
        "new_fault": 2,
        "new_app": 2,
        "no_fault": 2,
    }


def test_held_out_places_are_in_new_location_only() -> None:
    held = [r.split for r in expand(PLAN) if r.fault.place == "orders" and r.fault.kind == "container_pause"]
    assert held == ["new_location", "new_location"]


def test_every_place_has_its_turn_before_any_comes_again() -> None:
    trained = [r.fault for r in expand(PLAN) if r.fault.kind == "container_pause" and r.split == "train"]
    assert Counter((f.place, f.strength) for f in trained) == {
        (place, strength): 1 for place in ("cart", "redis") for strength in ("whole", "intermittent")
    }


def test_what_is_repeated_was_trained_on() -> None:
    runs = expand(load_plan(THREE_APPS))
    trained = {(r.app, r.fault.kind, r.fault.place) for r in runs if r.split == "train"}
    assert {(r.app, r.fault.kind, r.fault.place) for r in runs if r.split == "repeat"} <= trained


def test_what_is_held_out_in_the_plan_of_all_applications_is_not_trained_on() -> None:
    runs = expand(load_plan(THREE_APPS))
    trained = {(r.app, r.fault.kind, r.fault.place) for r in runs if r.split == "train"}
    assert not trained & {(r.app, r.fault.kind, r.fault.place) for r in runs if r.split == "new_location"}


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


def test_runs_that_are_added_leave_the_others_as_they_were() -> None:
    more = SHOP.model_copy(update={"each": Share(train=5), "controls": {"none": Share(train=4, no_fault=1)}})
    grown = expand(PLAN.model_copy(update={"apps": {"shop": more}}))
    assert {r for r in expand(PLAN) if r.app == "shop" and r.fault.kind != "benign_deploy"} < set(grown)


def test_what_is_left_out_is_gone_and_the_other_runs_stay_as_they_were() -> None:
    """As many runs as before: each one that was left out is one more of those that remain."""
    whole = {r for r in expand(PLAN) if r.fault.kind == "container_pause"}
    less = PAUSE.model_copy(update={"without": {"redis": ("intermittent",)}})
    faults = SHOP.faults | {"container_pause": less}
    left = {
        r
        for r in expand(PLAN.model_copy(update={"apps": {"shop": SHOP.model_copy(update={"faults": faults})}}))
        if r.fault.kind == "container_pause"
    }
    assert len(left) == len(whole)
    gone = {r for r in whole if (r.fault.place, r.fault.strength) == ("redis", "intermittent")}
    assert gone
    assert whole - left == gone


def test_a_place_is_left_out_with_all_of_its_strengths_where_none_is_named() -> None:
    less = AppPlan(each=Share(train=4), faults={"container_pause": PAUSE.model_copy(update={"without": {"redis": ()}})})
    assert {r.fault.place for r in expand(Plan(apps={"shop": less}))} == {"cart", "orders"}


@pytest.mark.parametrize("path", PLANS, ids=lambda p: p.stem)
def test_a_bundled_plan_has_controls_held_out_places_and_a_test_share(path: Path) -> None:
    runs = expand(load_plan(path))
    splits = Counter(r.split for r in runs)
    controls = sum(r.fault.kind in ("none", "benign_spike", "benign_deploy") for r in runs)
    assert controls / len(runs) >= 0.15
    assert 0.3 <= 1 - splits["train"] / len(runs) <= 0.65
    assert set(splits) >= {"train", "repeat", "new_location", "no_fault"}


def test_the_plan_of_all_applications_covers_every_kind_that_users_feel_and_holds_one_of_each_category_out() -> None:
    runs = expand(load_plan(THREE_APPS))
    assert len(runs) >= 600
    felt = {k.name for k in kinds() if k.category != "noise"} - {"pool_too_small", "cache_disabled"}
    assert {r.fault.kind for r in runs} == felt
    assert {r.split for r in runs if r.app == "travel"} == {"new_app", "no_fault"}
    held = {kind_named(r.fault.kind).category for r in runs if r.split == "new_fault"}
    assert held == {k.category for k in kinds()} - set(HARMLESS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("faults: {gremlin: {}}", "no fault kind 'gremlin'"),
        ("faults: {container_pause: {places: [moon]}}", "cannot be applied at 'moon'"),
        ("faults: {container_pause: {strengths: [mad]}}", "no strength 'mad'"),
        ("faults: {container_pause: {without: {moon: []}}}", "cannot be applied at 'moon'"),
        ("faults: {container_pause: {without: {cart: [mad]}}}", "no strength 'mad'"),
        ("faults: {container_pause: {places: [cart], held_out: [cart]}}", "cart is both trained on and held out"),
        ("faults: {container_pause: {runs: {train: 1, new_fault: 1}}}", "container_pause is a new fault, yet trained on"),
        ("faults: {container_pause: {}, container_stop: {runs: {new_app: 1}}}", "is a new application, yet trained on"),
        ("faults: {container_pause: {runs: {repeat: 1}}}", "nothing to make 1 repeat runs of"),
        ("window: 3", "window: Extra inputs are not permitted"),
    ],
)
def test_a_wrong_plan_is_refused_and_the_message_names_the_entry(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(f"apps: {{shop: {{each: {{train: 1}}, {text}}}}}")
    with pytest.raises(InvalidInputError, match=message):
        load_plan(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apps: {}", "apps: Dictionary should have at least 1 item"),
        ("apps: {bakery: {}}", "bakery"),
        ("baseline_s: 0\napps: {shop: {}}", "baseline_s: Input should be greater than 0"),
        ("{", "cannot be read"),
    ],
)
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInputError, match=message):
        load_plan(path)
