"""Two faults at once are drawn so that each hurts users of its own, and held-out pairings are kept out of training."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fault_injection.apps import app_named
from fault_injection.campaigns.pairs import draw_pairs, pairing
from fault_injection.campaigns.plan import AppPlan, FaultPlan, Plan, Run, Share, expand, load_plan
from fault_injection.kinds import kind_named
from fault_injection.spec import Fault
from revelio.errors import InvalidInputError

SHOP = app_named("shop")
HELD = (("network", "component"),)
EACH = Share(train=2, new_location=1)
FAULTS = {
    "container_pause": FaultPlan(held_out=("search",)),
    "cpu_quota": FaultPlan(held_out=("products",)),
    "delay": FaultPlan(held_out=("users",)),
    "retry_storm": FaultPlan(),
    "traffic_flood": FaultPlan(),
}
CONCURRENT = Share(train=12, repeat=3, new_location=2, new_fault=4)
PLAN = Plan(held_pairings=HELD, apps={"shop": AppPlan(each=EACH, faults=FAULTS, concurrent=CONCURRENT)})


def pairs_of(plan: Plan) -> list[Run]:
    return [run for run in expand(plan) if run.beside is not None]


def test_each_split_has_as_many_runs_as_the_plan_says_and_the_same_ones_every_time() -> None:
    assert Counter(run.split for run in pairs_of(PLAN)) == {"train": 12, "repeat": 3, "new_location": 2, "new_fault": 4}
    assert pairs_of(PLAN) == pairs_of(PLAN)


def test_the_two_are_of_different_categories_and_at_different_parts_that_not_everybody_needs() -> None:
    for run in pairs_of(PLAN):
        kinds = [kind_named(fault.kind) for fault in run.faults]
        assert len({kind.category for kind in kinds}) == 2
        assert not all(kind.burdens_host for kind in kinds)
        places = {fault.place for fault in run.faults}
        assert len(places) == 2 and not places & {SHOP.entrance, *SHOP.stores}


def test_parts_that_call_each_other_are_paired_only_where_there_are_no_others() -> None:
    assert {frozenset(run.fault.place for run in pairs_of(PLAN))}.isdisjoint(map(frozenset, SHOP.edges))
    calling = [Fault("container_pause", "orders", "whole"), Fault("delay", "payment", "hard")]
    assert len(draw_pairs(SHOP, calling, 1, "s")) == 1


def test_held_out_pairings_are_in_new_fault_only_and_alone() -> None:
    for run in pairs_of(PLAN):
        assert (pairing((run.faults[0], run.faults[1])) == {"network", "component"}) == (run.split == "new_fault")


def test_either_may_come_first() -> None:
    forms = [Fault("container_pause", p, "whole") for p in ("cart", "search")] + [Fault("delay", "users", "hard")]
    assert {draw_pairs(SHOP, forms, 1, str(seed))[0][0].kind for seed in range(20)} == {"container_pause", "delay"}


def test_what_is_repeated_was_trained_on_and_what_is_held_out_was_not() -> None:
    by_split: dict[str, set[frozenset[tuple[str, str]]]] = {}
    for run in pairs_of(PLAN):
        by_split.setdefault(run.split, set()).add(frozenset((fault.kind, fault.place) for fault in run.faults))
    assert by_split["repeat"] <= by_split["train"]
    trained = {(r.fault.kind, r.fault.place) for r in expand(PLAN) if r.split == "train"}.union(*by_split["train"])
    assert not trained.intersection(*by_split["new_location"])


def test_more_runs_than_there_are_pairs_are_refused() -> None:
    few = AppPlan(each=EACH, faults={"container_pause": FaultPlan(places=("cart",))}, concurrent=Share(train=1))
    with pytest.raises(InvalidInputError, match="shop: concurrent: only 0 pairs of faults for 1 train runs"):
        expand(Plan(apps={"shop": few}))


def test_a_pairing_of_what_is_no_category_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("held_pairings: [[network, gremlins]]\napps: {shop: {}}")
    with pytest.raises(InvalidInputError, match="held_pairings"):
        load_plan(path)
