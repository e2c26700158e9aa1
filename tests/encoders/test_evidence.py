"""Distances from the baseline, whatever a component is called."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from revelio.encoders.evidence import FAMILIES, component, components_matrix, glance, ranks
from revelio.types import Entity, Evidence, Feature, LogPattern, Reading, Series, SpanFigures, SpanStat, StateChange, Window

BASELINE, WINDOW = Window(0.0, 20.0), Window(20.0, 40.0)
TIMES = tuple(float(t) for t in range(0, 40, 2))


def evidence(**parts: object) -> Evidence:
    services = tuple(Entity("service", n) for n in ("a", "b"))
    return replace(Evidence(WINDOW, BASELINE, (*services, Entity("edge", "a->b"))), **parts)  # type: ignore[arg-type]


def step(name: str, before: float, now: float, metric: str = "m") -> Series:
    return Series(Entity("service", name), metric, "", TIMES, tuple(before if t < 20 else now for t in TIMES))


def test_a_step_up_is_far_above_and_not_below_its_baseline() -> None:
    found = glance(evidence(series=(step("a", 1.0, 4.0),))).figures["a", "series", "m"]
    assert found.up == pytest.approx(20.0) and found.down < 0
    assert found.onset == 0.0


def test_a_reading_takes_the_direction_that_is_bad() -> None:
    view = glance(evidence(series=(step("a", 4.0, 1.0),)))
    assert view.reading("a", Reading("series", "m", "up")) == pytest.approx(-5.0)
    assert view.reading("a", Reading("series", "m", "down")) == pytest.approx(5.0)
    assert view.reading("a", Reading("series", "m", "both")) == pytest.approx(5.0)
    assert view.reading("b", Reading("series", "m", "up")) is None


def test_a_ripple_under_the_metrics_noise_is_no_distance() -> None:
    series = (step("a", 0.0, 0.01),)
    assert glance(evidence(series=series)).figures["a", "series", "m"].up > 1000
    assert glance(evidence(series=series), {"m": 0.05}).figures["a", "series", "m"].up < 1


def test_slower_and_failing_spans_raise_latency_and_errors_of_their_service() -> None:
    before, now = SpanFigures(100, 0, 10.0, 20.0, 5.0), SpanFigures(100, 30, 200.0, 400.0, 5.0)
    view = glance(evidence(spans=(SpanStat(Entity("operation", "b: GET /x"), "b", now, before),)))
    row = dict(zip(FAMILIES, view.families["b"], strict=True))
    assert row["latency"] > 20 and row["errors"] > 20 and row["self_time"] == 0
    assert view.families["a"] == [0.0] * len(FAMILIES)


def test_a_new_problem_in_the_logs_counts_as_new_and_as_a_problem() -> None:
    pattern = LogPattern(Entity("service", "b"), "ERROR", "no key <n>", 12, 0, 21.0)
    view = glance(evidence(logs=(pattern,)))
    assert view.reading("b", Reading("logs", "new_problems")) == pytest.approx(12.0)
    assert view.reading("b", Reading("logs", "error")) == pytest.approx(12.0)


def test_a_state_change_is_far_outside() -> None:
    view = glance(evidence(changes=(StateChange(Entity("container", "b"), 21.0, "status", "running", "paused"),)))
    assert (view.reading("b", Reading("changes", "status")) or 0) > 10
    assert view.reading("b", Reading("changes", "image")) is None


def test_ready_made_features_are_read_with_and_without_a_baseline() -> None:
    features = (Feature(Entity("pod", "p"), "cpu", 3.0, 1.0), Feature(Entity("pod", "p"), "score", 7.0))
    view = glance(evidence(features=features))
    assert view.reading("p", Reading("features", "cpu")) == pytest.approx(13.33, abs=0.01)
    assert view.reading("p", Reading("features", "score")) == 7.0


def test_names_do_not_matter_to_the_matrix() -> None:
    one = glance(evidence(series=(step("a", 1.0, 4.0), step("b", 1.0, 1.0))))
    swapped = glance(evidence(series=(step("b", 1.0, 4.0), step("a", 1.0, 1.0))))
    np.testing.assert_array_equal(components_matrix(one)[1], components_matrix(swapped)[1][::-1])


def test_ranks_are_the_share_of_others_below() -> None:
    np.testing.assert_allclose(ranks(np.array([[3.0], [1.0], [2.0], [1.0]], dtype=np.float32))[:, 0], [1, 0, 2 / 3, 0])


@pytest.mark.parametrize(("name", "owner"), [("a->b", "b"), ("cart: GET /cart", "cart"), ("cart", "cart")])
def test_an_entity_belongs_to_a_component(name: str, owner: str) -> None:
    assert component(name) == owner
