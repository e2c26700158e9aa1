"""An incident as somebody would hand it over who has no raw telemetry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from revelio.training.evaluation.summary_features import summary_features
from revelio.types import Entity, Feature, SpanFigures, SpanStat
from tests.ranker.conftest import labelled


def figures(features: tuple[Feature, ...], entity: str) -> dict[str, tuple[float, float | None]]:
    return {f.name: (f.value, f.baseline) for f in features if f.entity.name == entity}


def test_what_is_left_are_figures_then_and_now_and_nothing_else_changes() -> None:
    record = labelled(1, "hog", "alpha").record
    made = summary_features(record)
    seen = made.evidence
    assert (seen.series, seen.logs, seen.spans, seen.changes) == ((), (), (), ())
    now, before = figures(seen.features, "alpha")["cpu"]
    assert now == pytest.approx(2.3, abs=0.05)
    assert before == pytest.approx(0.3, abs=0.05)
    assert replace(made, evidence=record.evidence) == record
    assert (seen.window, seen.baseline, seen.entities) == (
        record.evidence.window,
        record.evidence.baseline,
        record.evidence.entities,
    )


def test_failures_in_logs_and_changes_of_state_are_counted() -> None:
    failing = summary_features(labelled(2, "bug", "beta").record).evidence.features
    assert figures(failing, "beta")["error_log_lines"] == (40.0, 0.0)
    stopped = summary_features(labelled(3, "stop", "gamma").record).evidence.features
    assert figures(stopped, "gamma")["status_changes"] == (1.0, 0.0)


def test_spans_give_latency_failures_and_calls() -> None:
    record = labelled(4, "none", "beta").record
    stat = SpanStat(Entity("operation", "beta: GET /"), "beta", SpanFigures(20, 3, 5.0, 9.0), SpanFigures(30, 0, 4.0, 6.0))
    made = summary_features(replace(record, evidence=replace(record.evidence, spans=(stat,))))
    assert figures(made.evidence.features, "beta: GET /") == {
        "span_latency_p95": (9.0, 6.0),
        "span_errors": (3.0, 0.0),
        "span_count": (20.0, 30.0),
    }
