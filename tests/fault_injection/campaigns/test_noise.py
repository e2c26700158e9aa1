"""Noise is around a share of all runs, elsewhere than their faults, and held-out kinds are not around training."""

from __future__ import annotations

from collections import Counter

import pytest

from fault_injection.apps import app_named
from fault_injection.campaigns.noise import Noise
from fault_injection.campaigns.pairs import own_parts
from fault_injection.campaigns.plan import AppPlan, FaultPlan, NoisePlan, Plan, Share, expand
from fault_injection.kinds import kind_named
from revelio.errors import InvalidInputError

SHOP = app_named("shop")
HELD = ("bot_traffic", "autoscaling", "error_log")
APP = AppPlan(
    each=Share(train=30, repeat=5),
    faults={"container_pause": FaultPlan(), "delay": FaultPlan(), "cpu_quota": FaultPlan(runs=Share(new_fault=30))},
    controls={"none": Share(train=15, no_fault=15)},
    concurrent=Share(train=10),
)
PLAN = Plan(noise=NoisePlan(share=0.5, held_out=HELD), apps={"shop": APP})
RUNS = expand(PLAN)


def test_about_half_of_the_runs_have_noise_and_the_same_ones_every_time() -> None:
    noisy = sum(run.noise is not None for run in RUNS)
    assert 0.35 < noisy / len(RUNS) < 0.65
    assert expand(PLAN) == RUNS
    assert any(run.noise and kind_named(run.fault.kind).category == "control" for run in RUNS)


def test_it_goes_on_elsewhere_than_the_faults() -> None:
    for run in RUNS:
        if run.noise:
            taken = [own_parts(SHOP, fault.place) for fault in run.faults]
            assert not own_parts(SHOP, run.noise.place) & frozenset[str]().union(*taken)


def test_held_out_kinds_are_around_new_faults_and_controls_only() -> None:
    held = {split: Counter(r.noise.kind in HELD for r in RUNS if r.noise and r.split == split) for split in ("train", "repeat")}
    assert all(not counts[True] for counts in held.values())
    assert {r.noise.kind for r in RUNS if r.noise and r.split == "new_fault"} <= set(HELD)
    assert {r.noise.kind in HELD for r in RUNS if r.noise and r.split == "no_fault"} == {True, False}


def test_without_a_share_no_run_has_noise_and_the_runs_are_the_same() -> None:
    quiet = expand(PLAN.model_copy(update={"noise": NoisePlan(share=0.0)}))
    assert not any(run.noise for run in quiet)
    assert [(r.id, r.fault, r.split) for r in quiet] == [(r.id, r.fault, r.split) for r in RUNS]


def test_a_kind_that_is_no_noise_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"noise: no kind delay; there are: .*error_log"):
        Noise(("delay",))
