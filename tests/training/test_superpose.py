"""Two recorded incidents become one with both faults, of which the first one's users complain."""

from __future__ import annotations

from dataclasses import replace

import pytest

from revelio.systems.incidents.dataset import LabelledIncident
from revelio.systems.incidents.exchange import Note, Report
from revelio.types import LogPattern
from tests.ranker.conftest import labelled

pytest.importorskip("torch")

from revelio.training.superpose import superpose, superposed


def felt(number: int, kind: str, place: str, feature: str) -> LabelledIncident:
    """An incident whose users complain of one feature."""
    found = labelled(number, kind, place)
    at = found.record.evidence.window.start + 1.0
    notes = (Note(at, feature, "error", 0.1), Note(at, "home", "ok", 0.1))
    reports = (Report(f"{feature} fails", "w1", f"small/{feature}/error"),)
    return replace(found, record=replace(found.record, notes=notes, reports=reports))


def test_both_faults_are_in_the_evidence_and_only_the_first_in_reports_and_labels() -> None:
    first, second = felt(1, "hog", "alpha", "buy"), felt(2, "bug", "beta", "search")
    (one, other) = superposed([first, second])
    record = one.incident.record
    assert (one.parts, other.parts) == (("i001", "i002"), ("i002", "i001"))
    assert record.labels == first.record.labels
    assert [r.text for r in record.reports] == ["buy fails"]
    window = record.evidence.window
    raised = {s.entity.name for s in record.evidence.series if max(s.values[-3:]) > 1.0}
    failing = {p.entity.name for p in record.evidence.logs if p.count}
    assert (raised, failing) == ({"alpha"}, {"beta"})
    assert all(window.start <= p.first_seen <= window.end for p in record.evidence.logs)


def test_incidents_are_paired_only_where_a_report_tells_them_apart() -> None:
    assert list(superposed([felt(1, "hog", "alpha", "buy"), felt(2, "bug", "beta", "buy")])) == []
    assert list(superposed([felt(1, "hog", "alpha", "buy"), felt(2, "hog", "beta", "search")])) == []
    site = felt(1, "hog", "alpha", "_site")
    assert [p.parts[0] for p in superposed([site, felt(2, "bug", "beta", "search")])] == ["i002"]


def test_controls_and_incidents_of_other_systems_have_no_partner() -> None:
    other = felt(2, "bug", "beta", "search")
    other = replace(other, record=replace(other.record, system="else"))
    assert list(superposed([felt(1, "hog", "alpha", "buy"), other, felt(3, "none", "beta", "search")])) == []


def test_lines_and_results_of_both_stay() -> None:
    first, second = felt(1, "bug", "alpha", "buy").record, felt(2, "stop", "beta", "search").record
    line = LogPattern(second.evidence.logs[0].entity, "INFO", "only there", 3, 0, second.evidence.window.start)
    second = replace(second, evidence=replace(second.evidence, logs=(*second.evidence.logs, line)))
    found = superpose(first, second)
    assert line.pattern in {p.pattern for p in found.evidence.logs}
    assert found.evidence.changes == second.evidence.changes
    assert found.id == "i001+i002"
