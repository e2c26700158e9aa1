"""A measurement says what users met and what it cost, beside the limits it should keep."""

from __future__ import annotations

from dataclasses import replace

import pytest

from testbed.stack.measure import Cost, Feature, Measurement, feature_figures
from testbed.users.notes import Visit

GOOD = Measurement(
    "shop",
    300.0,
    (Feature("home", 100, {"ok": 100}, median=0.02, p95=0.08, apart=3.2),),
    (Cost("cart", "app", 0.05, 90 * 2**20), Cost("elasticsearch", "backend", 0.2, 2**30)),
    free_cores=0.8,
    cores=2,
)


def missed(measurement: Measurement) -> list[str]:
    return [limit.name for limit in measurement.limits if not limit.kept]


def test_a_stack_in_order_keeps_every_limit() -> None:
    assert missed(GOOD) == []


@pytest.mark.parametrize(
    ("feature", "name"),
    [
        (replace(GOOD.features[0], outcomes={"ok": 99, "slow": 1}), "visits that were not ok"),
        (replace(GOOD.features[0], p95=0.301), "p95 of the slowest feature"),
        (replace(GOOD.features[0], apart=5.1), "longest time between two visits to a feature"),
    ],
)
def test_one_bad_feature_misses_its_limit(feature: Feature, name: str) -> None:
    assert missed(replace(GOOD, features=(*GOOD.features, feature))) == [name]


def test_a_full_machine_misses_its_limits() -> None:
    assert missed(replace(GOOD, free_cores=0.4)) == ["free cores"]
    assert missed(replace(GOOD, costs=(Cost("cart", "app", 0.1, 9 * 2**30),))) == ["memory of all containers"]


def test_silent_probe_users_are_no_sign_of_health() -> None:
    assert missed(replace(GOOD, features=())) == ["visits that were not ok"]


def test_a_features_figures_are_its_visits() -> None:
    visits = [Visit(at=100.0 + 3 * i, feature="home", outcome="ok", seconds=0.01 * (i + 1), status=200) for i in range(20)]
    visits[7] = replace(visits[7], outcome="error")
    figures = feature_figures("home", [*visits, Visit(at=170.0, feature="home", outcome="ok", seconds=0.5)])
    assert (figures.visits, figures.outcomes) == (21, {"ok": 20, "error": 1})
    assert figures.median == pytest.approx(0.11) and figures.p95 == pytest.approx(0.2)
    assert figures.apart == pytest.approx(13.0)
