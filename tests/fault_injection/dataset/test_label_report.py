"""Labels are counted by kind and template; kinds and labels that need a look are marked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from fault_injection.dataset.label_report import label_report
from revelio.systems.incidents.exchange import Label
from tests.fault_injection.dataset.test_freeze import CONTROL, PAUSE, record, store

HERE, THERE = (("service", "cart"),), (("service", "orders"),)
SHOWN = (Label("t", HERE, 3, 0.9, 0.0, True),)
DARK = (Label("t", HERE, 3, 0.1, 0.0, False), Label("u", HERE, 1, 0.0, None, False))


def discard(out: Path, *runs: tuple[str, str]) -> None:
    lines = (json.dumps({"run": run, "kind": PAUSE.kind, "stage": stage, "reason": "r"}) for run, stage in runs)
    (out / "discarded.jsonl").write_text("\n".join(lines) + "\n")


def test_labels_are_counted_by_template_as_proven_in_an_incident_or_not(tmp_path: Path) -> None:
    first = (*SHOWN, Label("t", THERE, 3, 0.8, 0.6, False))
    second = (Label("t", HERE, 3, 0.1, 0.0, False),)
    pairs = (("a", first), ("b", second), ("c", ()))
    store(tmp_path, *(replace(record(name, "train", "w1"), labels=labels) for name, labels in pairs))
    (proof,) = label_report(tmp_path).labels
    assert (proof.incidents, proof.of, proof.executed, proof.proven, proof.in_baseline) == (1, 2, 3, 1, 1)
    assert (proof.share, proof.never) == (0.5, False)


def test_a_label_is_marked_once_three_incidents_could_have_shown_it_and_none_did(tmp_path: Path) -> None:
    for number, name in enumerate("abc", start=1):
        store(tmp_path, replace(record(name, "train", "w1"), labels=DARK))
        assert [label.never for label in label_report(tmp_path).labels] == [number == 3] * 2


def test_a_kind_is_judged_by_its_recorded_runs_and_by_those_that_no_tool_explained(tmp_path: Path) -> None:
    named = [f"r{n}" for n in range(9)]
    store(tmp_path, *(replace(record(name, "train", "w1"), labels=SHOWN) for name in named))
    discard(tmp_path, ("r0", "no tool shows its cause"), ("x", "no tool shows its cause"), ("y", "users did not feel it"))
    (kind,) = label_report(tmp_path).kinds
    assert (kind.runs, kind.shown, kind.unexplained, kind.share, kind.low) == (10, 9, 1, 0.9, False)
    store(tmp_path, replace(record("z", "train", "w1"), labels=DARK))
    assert label_report(tmp_path).kinds[0].low


def test_a_kind_that_no_run_was_recorded_of_is_there_when_its_runs_were_unexplained(tmp_path: Path) -> None:
    store(tmp_path, record("a", "train", "w1", CONTROL))
    discard(tmp_path, ("x", "no tool shows its cause"), ("x", "no tool shows its cause"))
    (kind,) = label_report(tmp_path).kinds
    assert (kind.kind, kind.runs, kind.share) == (PAUSE.kind, 1, 0.0)


def test_controls_have_no_labels_to_prove(tmp_path: Path) -> None:
    store(tmp_path, replace(record("a", "train", "w1", CONTROL), labels=SHOWN))
    found = label_report(tmp_path)
    assert (found.labels, found.kinds) == ((), ())
