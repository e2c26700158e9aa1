"""Distances from the baseline, whatever a component is called."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import get_args

import numpy as np
import pytest

from revelio.encoders.evidence import FAMILIES, EvidenceIndex, component, components_matrix, index_evidence, neighbours, ranks
from revelio.support.anomaly import deviation, split
from revelio.types import (
    Direction,
    Entity,
    Evidence,
    Feature,
    LogPattern,
    Reading,
    Series,
    SpanFigures,
    SpanStat,
    StateChange,
    Window,
)

BASELINE, WINDOW = Window(0.0, 20.0), Window(20.0, 40.0)
TIMES = tuple(float(t) for t in range(0, 40, 2))


def evidence(**parts: object) -> Evidence:
    services = tuple(Entity("service", n) for n in ("a", "b"))
    return replace(Evidence(WINDOW, BASELINE, (*services, Entity("edge", "a->b"))), **parts)  # type: ignore[arg-type]


def step(name: str, before: float, now: float, metric: str = "m") -> Series:
    return Series(Entity("service", name), metric, "", TIMES, tuple(before if t < 20 else now for t in TIMES))


def read(view: EvidenceIndex, name: str, metric: str, direction: Direction = "up") -> float:
    distance = view.reading(name, Reading("series", metric, direction))
    assert distance is not None
    return distance


def test_a_step_up_is_far_above_and_not_below_its_baseline() -> None:
    view = index_evidence(evidence(series=(step("a", 1.0, 4.0),)))
    assert read(view, "a", "m") == pytest.approx(20.0) and read(view, "a", "m", "down") < 0
    assert view.onset.tolist() == [0.0, 1.0]


def test_all_series_at_once_are_as_far_as_each_alone() -> None:
    random = Random(7)
    series = []
    for number in range(40):
        times = tuple(sorted(random.uniform(0.0, 40.0) for _ in range(random.randint(4, 30))))
        values = tuple(random.choice((0.0, random.gauss(5.0, 2.0), float("nan"), float("inf"))) for _ in times)
        earlier = tuple(tuple(random.gauss(5.0, 3.0) for _ in range(random.randint(0, 4))) for _ in range(random.randint(0, 2)))
        series.append(Series(Entity("service", "a"), f"m{number}", "", times, values, earlier))
    noise = {one.metric: 0.0 for one in series} | {"m3": 2.0}
    view = index_evidence(evidence(series=tuple(series)), noise)
    for one in series:
        before, now = split(one.times, one.values, BASELINE, WINDOW)
        if not np.isfinite(before).any() or not np.isfinite(now).any():
            assert view.reading("a", Reading("series", one.metric)) is None
            continue
        for direction in get_args(Direction):
            alone = deviation(before, now, direction, noise[one.metric], one.earlier)
            assert read(view, "a", one.metric, direction) == pytest.approx(alone, rel=1e-9)


def test_a_step_that_comes_every_day_is_at_its_baseline_and_has_no_onset() -> None:
    daily = replace(step("a", 1.0, 4.0), earlier=((4.0, 4.0), (4.0, 4.0)))
    view = index_evidence(evidence(series=(daily, step("b", 1.0, 4.0))))
    assert (read(view, "a", "m"), read(view, "a", "m", "down")) == (0.0, 0.0)
    assert read(view, "b", "m") == pytest.approx(20.0)
    assert view.onset.tolist() == [1.0, 0.0]


def test_a_reading_takes_the_direction_that_is_bad() -> None:
    view = index_evidence(evidence(series=(step("a", 4.0, 1.0),)))
    assert view.reading("a", Reading("series", "m", "up")) == pytest.approx(-5.0)
    assert view.reading("a", Reading("series", "m", "down")) == pytest.approx(5.0)
    assert view.reading("a", Reading("series", "m", "both")) == pytest.approx(5.0)
    assert view.reading("b", Reading("series", "m", "up")) is None


def test_a_ripple_under_the_metrics_noise_is_no_distance() -> None:
    series = (step("a", 0.0, 0.01),)
    assert read(index_evidence(evidence(series=series), {"m": 0.0}), "a", "m") > 100
    assert read(index_evidence(evidence(series=series), {"m": 0.05}), "a", "m") < 1


def test_the_onset_of_an_edge_is_that_of_its_callee_and_its_distance_its_own() -> None:
    series = Series(Entity("edge", "a->b"), "m", "", TIMES, step("", 1.0, 4.0).values)
    view = index_evidence(evidence(series=(series,)))
    assert view.components == ("a", "b")
    assert view.onset.tolist() == [1.0, 0.0]
    assert not view.families.any()


def test_slower_and_failing_spans_raise_latency_and_errors_of_their_service() -> None:
    before, now = SpanFigures(100, 0, 10.0, 20.0, 5.0), SpanFigures(100, 30, 200.0, 400.0, 5.0)
    view = index_evidence(evidence(spans=(SpanStat(Entity("operation", "b: GET /x"), "b", now, before),)))
    assert view.components == ("a", "b")
    row = dict(zip(FAMILIES, view.families[1], strict=True))
    assert row["latency"] > 20 and row["errors"] > 20 and row["self_time"] == 0
    assert not view.families[0].any()


def test_what_a_caller_calls_and_what_calls_it_are_its_neighbours() -> None:
    before, now = SpanFigures(100, 0, 10.0, 20.0, 5.0), SpanFigures(100, 30, 200.0, 400.0, 5.0)
    view = index_evidence(evidence(spans=(SpanStat(Entity("operation", "b: GET /x"), "b", now, before),)))
    caller, callee, stranger, again = neighbours(view, ("a", "b", "c", "a"))
    assert caller[:2].min() > 1 and not caller[2:].any()
    assert not callee.any() and not stranger.any()
    np.testing.assert_array_equal(caller, again)


def test_the_furthest_reading_anywhere_leaves_out_what_is_nowhere() -> None:
    view = index_evidence(evidence(series=(step("a", 1.0, 4.0), step("b", 1.0, 2.0))))
    up, none = Reading("series", "m"), Reading("series", "n")
    assert view.largest((up, none)) == {up: pytest.approx(20.0)}


def test_of_a_figure_that_is_seen_twice_the_last_holds() -> None:
    view = index_evidence(evidence(series=(step("a", 1.0, 4.0), step("b", 1.0, 2.0), step("a", 4.0, 1.0))))
    assert read(view, "a", "m") == pytest.approx(-5.0)
    assert {key: view.up[row] for key, row in view.row.items()} == {
        ("a", "series", "m"): pytest.approx(-5.0),
        ("b", "series", "m"): pytest.approx(20.0 / 3.0),
    }


def test_a_new_problem_in_the_logs_counts_as_new_and_as_a_problem() -> None:
    pattern = LogPattern(Entity("service", "b"), "ERROR", "no key <n>", 12, 0, 21.0)
    view = index_evidence(evidence(logs=(pattern,)))
    assert view.reading("b", Reading("logs", "new_problems")) == pytest.approx(12.0)
    assert view.reading("b", Reading("logs", "error")) == pytest.approx(12.0)


def test_a_state_change_is_far_outside() -> None:
    view = index_evidence(evidence(changes=(StateChange(Entity("container", "b"), 21.0, "status", "running", "paused"),)))
    assert (view.reading("b", Reading("changes", "status")) or 0) > 10
    assert view.reading("b", Reading("changes", "image")) is None


def test_ready_made_features_are_read_with_and_without_a_baseline() -> None:
    features = (Feature(Entity("pod", "p"), "cpu", 3.0, 1.0), Feature(Entity("pod", "p"), "score", 7.0))
    view = index_evidence(evidence(features=features))
    assert view.reading("p", Reading("features", "cpu")) == pytest.approx(13.33, abs=0.01)
    assert view.reading("p", Reading("features", "score")) == 7.0


def ready(name: str, **values: float) -> tuple[Feature, ...]:
    return tuple(Feature(Entity("pod", pod), name, value) for pod, value in values.items())


def test_a_ready_made_figure_without_a_baseline_is_compared_with_its_peers() -> None:
    view = index_evidence(
        evidence(features=ready("memory_bytes", a=2.0e8, b=2.1e8, c=1.9e8, d=9.0e8) + ready("share", a=0.2, b=0.9))
    )
    far = {pod: view.reading(pod, Reading("features", "memory_bytes")) for pod in "abcd"}
    assert abs(far["a"] or 0.0) < 1.0 < 7.0 < (far["d"] or 0.0) < 100.0
    assert view.reading("b", Reading("features", "share")) == 0.9, "two are no peers"


def test_a_ready_made_figure_of_an_operation_is_its_services_the_worst_of_them() -> None:
    operations = {"web: GET /": (2.0, 1.0), "web: POST /": (9.0, 1.0), "db: get": (0.0, 1.0), "web->db": (5.0, 1.0)}
    features = tuple(Feature(Entity("operation", n), "latency", *values) for n, values in operations.items())
    view = index_evidence(evidence(features=(*features, Feature(Entity("service", "db"), "latency", 3.0, 1.0))))
    up, down = Reading("features", "latency"), Reading("features", "latency", "down")
    assert view.reading("web", up) == view.reading("web: POST /", up)
    assert view.reading("web", down) == view.reading("web: GET /", down)
    assert view.reading("db", up) == pytest.approx(13.33, abs=0.01), "its own goes before those of its operations"


def test_where_nobody_told_what_a_ripple_is_a_little_is_not_as_far_as_a_lot() -> None:
    failures = tuple(Feature(Entity("pod", pod), "failures", value, 0.0) for pod, value in {"a": 400.0, "b": 1.0}.items())
    view = index_evidence(evidence(features=failures, series=(step("a", 0.0, 400.0), step("b", 0.0, 1.0))))
    for reading in (Reading("features", "failures"), Reading("series", "m")):
        a, b = (view.reading(pod, reading) or 0.0 for pod in "ab")
        assert a == pytest.approx(1000.0)
        assert b == pytest.approx(2.5)


def test_a_ripple_that_somebody_told_holds_whatever_others_show() -> None:
    view = index_evidence(evidence(series=(step("a", 0.0, 400.0), step("b", 0.0, 1.0))), {"m": 0.5})
    assert view.reading("b", Reading("series", "m")) == pytest.approx(2.0)


def test_a_series_of_unknown_scale_is_measured_by_its_own_and_never_endlessly_far() -> None:
    found = index_evidence(evidence(series=(step("a", 0.0, 40.0, "open.series"), step("b", 0.0, 1e9, "open.series"))))
    assert read(found, "a", "open.series") == read(found, "b", "open.series") == pytest.approx(1 / 0.15)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_ready_made_figure_that_is_no_number_makes_nothing_else_unreadable(value: float) -> None:
    view = index_evidence(evidence(features=ready("cpu", a=0.1, b=0.1, c=0.1, d=value)))
    assert all(np.isfinite(view.reading(pod, Reading("features", "cpu")) or 0.0) for pod in "abcd")


def test_names_do_not_matter_to_the_matrix() -> None:
    one = index_evidence(evidence(series=(step("a", 1.0, 4.0), step("b", 1.0, 1.0))))
    swapped = index_evidence(evidence(series=(step("b", 1.0, 4.0), step("a", 1.0, 1.0))))
    np.testing.assert_array_equal(components_matrix(one), components_matrix(swapped)[::-1])


def test_ranks_are_the_share_of_others_below() -> None:
    np.testing.assert_allclose(ranks(np.array([[3.0], [1.0], [2.0], [1.0]], dtype=np.float32))[:, 0], [1, 0, 2 / 3, 0])


@pytest.mark.parametrize(("name", "owner"), [("a->b", "b"), ("cart: GET /cart", "cart"), ("cart", "cart")])
def test_an_entity_belongs_to_a_component(name: str, owner: str) -> None:
    assert component(name) == owner
