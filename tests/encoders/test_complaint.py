"""A report's words lead to the components that it names, and along calls to what deviates there."""

from __future__ import annotations

import numpy as np
import pytest

from revelio.encoders.complaint import PLACE, complaint, of_targets, read_names
from revelio.encoders.evidence import EvidenceIndex, index_evidence
from revelio.encoders.report import Floats
from revelio.encoders.static_words import HashingWords
from revelio.types import Entity, Evidence, Series, Window

WORDS = HashingWords(64)
SERVICES = ("gateway", "seats", "payment", "postgres", "vault")
CALLS = ("gateway->seats", "gateway->payment", "seats->postgres", "payment->vault")
OPERATIONS = ("gateway: GET /trips/{trip}/seats", "payment: PUT /refunds/{booking}")


def _view(*bad: str) -> EvidenceIndex:
    times = tuple(float(t) for t in range(0, 120, 5))
    series = tuple(
        Series(
            Entity("service", s),
            "latency",
            "s",
            times,
            tuple(1.0 + 5.0 * (t >= 100 and s in bad) + 0.01 * (t % 3) for t in times),
        )
        for s in SERVICES
    )
    entities = (*(Entity("service", s) for s in SERVICES), *(Entity("edge", e) for e in CALLS))
    return index_evidence(Evidence(Window(100.0, 120.0), Window(0.0, 100.0), entities, series))


def _said(report: str, *bad: str) -> dict[str, dict[str, float]]:
    view = _view(*bad)
    found = complaint(
        view, read_names(view.components, OPERATIONS, WORDS, WORDS), WORDS.words([report]), WORDS.encode([report])[0]
    )
    return {c: dict(zip(PLACE, found[i].tolist(), strict=True)) for i, c in enumerate(view.components)}


def test_a_component_is_named_by_its_own_words() -> None:
    said = _said("the seats stay empty")
    assert said["seats"]["mention"] == pytest.approx(1.0, abs=0.01)
    assert max(SERVICES, key=lambda s: said[s]["mention"]) == "seats"


def test_a_component_is_named_by_its_operations() -> None:
    assert _said("no refunds for my booking")["payment"]["operation_mention"] > 0.5


def test_two_faults_at_once_are_told_apart_by_the_report() -> None:
    seats, paid = (_said(report, "postgres", "vault") for report in ("seats", "payment"))
    assert seats["postgres"]["suspect_lift"] > 0 > seats["vault"]["suspect_lift"]
    assert paid["vault"]["suspect_lift"] > 0 > paid["postgres"]["suspect_lift"]


@pytest.mark.parametrize("report", ["", "..."])
def test_without_a_word_nothing_is_complained_of(report: str) -> None:
    assert not any(any(row.values()) for row in _said(report, "postgres").values())


def test_targets_take_the_figures_of_their_component_and_of_its_caller() -> None:
    view = _view("postgres")
    found = complaint(
        view, read_names(view.components, OPERATIONS, WORDS, WORDS), WORDS.words(["seats"]), WORDS.encode(["seats"])[0]
    )
    rows: Floats = of_targets(found, view, ("postgres", ""), ("seats", ""))
    line = {c: i for i, c in enumerate(view.components)}
    assert np.array_equal(rows[0], np.concatenate([found[line["postgres"]], found[line["seats"]]]))
    assert not rows[1].any()
