"""Simulated incidents: determined by their seed, read as recorded ones are, and with right answers that the fault explains."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from revelio.encoders.evidence import index_evidence
from revelio.encoders.query import QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.encoders.static_words import HashingWords
from revelio.support.anomaly import SIGNIFICANT_SIGMA
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.systems.incidents.exchange import Report, dump_record, parse_record
from revelio.training.simulation import corpus, simulated
from revelio.training.simulation.dialect import HELD_OUT_DIALECTS
from revelio.training.simulation.faults import mechanisms
from revelio.training.simulation.incident import Case, draw_case, observe
from revelio.training.simulation.truth import Item, truth
from revelio.types import Evidence, Reading


@pytest.fixture(scope="module")
def some() -> list[LabelledIncident]:
    return list(simulated(3, 12))


def cases(count: int) -> list[Case]:
    drawn = (draw_case(f"cases/{n}") for n in range(4 * count))
    return [c for c in drawn if c.faults][:count]


def own_items(case: Case) -> dict[Item, int]:
    """What the first fault does itself."""
    seen = observe(case)
    flows = case.flow(()), case.flow(case.faults[:1])
    found = truth(case.dialect, seen.watched, 0, case.faults[0], flows, seen.lines, seen.changes)
    return {item: grade for item, grade in found.items() if grade == 3}


def deviating(case: Case, evidence: Evidence, items: dict[Item, int]) -> set[Item]:
    view = index_evidence(evidence, case.dialect.noise)
    far = {(n, s, m): view.reading(n, Reading(s, m, "both")) for n, s, m in items}  # type: ignore[arg-type]
    return {item for item, size in far.items() if size is not None and size >= SIGNIFICANT_SIGMA}


def test_the_same_seed_gives_the_same_incident_and_another_number_another() -> None:
    first, again = (dump_record(i.record) for i in (*simulated(7, 1, start=5), *simulated(7, 1, start=5)))
    assert first == again
    (other,) = simulated(7, 1, start=6)
    assert dump_record(other.record) != first


def test_what_the_labelled_cause_did_is_gone_without_it() -> None:
    there, still = 0, 0
    for case in cases(10):
        items = own_items(case)
        there += len(shown := deviating(case, observe(case).evidence, items))
        still += len(shown & deviating(case, observe(replace(case, faults=case.faults[1:])).evidence, items))
    assert there > 20
    assert still < 0.1 * there


def test_every_fault_that_was_reported_has_a_right_answer_that_shows_it(some: list[LabelledIncident]) -> None:
    for labelled in some:
        record = labelled.record
        grades = {x.grade for x in record.labels}
        healthy = record.fault is not None and record.fault.category == "control"
        assert (3 in grades) != healthy
        asked = {(q.template.id, q.bindings) for q in record.candidates}
        assert {(x.template, x.bindings) for x in record.labels} <= asked


def test_the_report_is_about_users_whom_only_the_labelled_fault_disturbs() -> None:
    for case in cases(20):
        first, *others = case.faults
        assert set(first.features) - {n for f in others for n in f.features}


def test_no_word_of_the_labels_reaches_what_encoders_read(some: list[LabelledIncident]) -> None:
    names = "|".join(name for name in mechanisms() if "_" in name)
    told = re.compile(rf"\b({names})\b|simulat|inject|held_out")
    for labelled in some:
        record = labelled.record
        words = dump_record(replace(record, id="", system="", labels=(), fault=None, noise=())).decode()
        assert not told.findall(words)


def test_held_out_mechanisms_and_dialects_are_never_trained_on() -> None:
    held = {name for name, m in mechanisms().items() if m.held_out}
    assert held
    trained = [draw_case(f"t/{n}") for n in range(40)]
    tested = [draw_case(f"h/{n}", held_out=True) for n in range(40)]
    assert not {f.mechanism.name for c in trained for f in c.faults} & held
    assert not {c.dialect.requests for c in trained} & HELD_OUT_DIALECTS
    assert {c.faults[0].mechanism.name for c in tested if c.faults} <= held
    assert {c.dialect.requests for c in tested} <= HELD_OUT_DIALECTS


def test_an_incident_is_written_and_read_like_a_recorded_one(some: list[LabelledIncident]) -> None:
    record = some[0].record
    again = parse_record(dump_record(record), "here")
    assert again.candidates == record.candidates
    assert again.labels == record.labels


def test_the_encoders_read_it(some: list[LabelledIncident]) -> None:
    encoder = QueryEncoder(HashingEncoder(16), {}, {}, words=HashingWords(16))
    for labelled in some[:6]:
        record = labelled.record
        found = encoder.encode(record.incident(), record.candidates, np.ones(16, dtype=np.float32))
        assert np.isfinite(found.features).all()


def test_reports_of_other_systems_speak_of_this_one() -> None:
    told = [Report(f"the search box is dead, take {n}", "w1", "shop/search/error") for n in range(3)]
    texts = corpus(
        [*told, Report("no cell", "w1", ""), Report("my parcel and the search box are lost", "w1", "shop/search/error")]
    )
    assert texts.moved == {"error": tuple(f"{{F}} is dead, take {n}" for n in range(3))}
    said = {i.record.reports[0].text for i in simulated(1, 30, texts)}
    assert any("is dead, take" in text and "search box" not in text for text in said)
