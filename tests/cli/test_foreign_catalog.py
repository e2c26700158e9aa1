"""Tools that nobody here has heard of, with no backend: checked, learnt, measured and recommended all the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from revelio.catalog import load_catalog
from revelio.systems.incidents.exchange import FaultRecord, Label, Record, Report, write_records
from revelio.types import Entity, Evidence, Feature, LogPattern, Window
from tests.cli.made import CommandLine

pytest.importorskip("torch")

CATALOG = """
tool: assistant
title: Operations assistant
about: Functions that an assistant may call.
templates:
  - id: get_error_logs
    title: Error logs of ${service}
    shows: Whether ${service} logs errors.
    body: get_error_logs(service="${service}")
    blanks: {service: service}
    reads: [{source: logs, metric: error}]
  - id: get_pod_restarts
    title: Restarts of pod ${pod}
    shows: How often ${pod} was restarted.
    body: get_pod_restarts(pod="${pod}")
    blanks: {pod: pod}
    reads: [{source: features, metric: restarts}]
---
tool: profiler
title: Profiler
templates:
  - id: profile_cpu
    title: CPU profile of pod ${pod}
    body: profile_cpu(pod="${pod}", seconds=30)
    blanks: {pod: pod}
    reads: [{source: features, metric: cpu}]
"""
PLACES = ("alpha", "beta", "gamma", "delta")
KINDS = {
    "bug": ("get_error_logs", "service", "an error on the {} page"),
    "crash": ("get_pod_restarts", "pod", "{} goes away again and again"),
    "hog": ("profile_cpu", "pod", "the {} page is slow"),
}


def incident(number: int, kind: str, place: str, split: str) -> Record:
    """Ready-made figures of each pod and log patterns of each service; no series, no spans, no changes."""
    rng = random.Random(number)
    features, logs = [], []
    for name in PLACES:
        pod = Entity("pod", name)
        restarts = 6.0 if (kind, name) == ("crash", place) else 0.0
        cpu = 0.3 + rng.gauss(0, 0.01) + (2.0 if (kind, name) == ("hog", place) else 0.0)
        features += [Feature(pod, "restarts", restarts, 0.0), Feature(pod, "cpu", cpu, 0.3)]
        logs.append(LogPattern(Entity("service", name), "ERROR", "failed", 40 if (kind, name) == ("bug", place) else 0, 0, 61.0))
    entities = tuple(Entity(sort, name) for name in PLACES for sort in ("service", "pod"))
    seen = Evidence(Window(60.0, 90.0), Window(0.0, 60.0), entities, logs=tuple(logs), features=tuple(features))
    template, blank, text = KINDS[kind]
    writer = "w1" if split == "train" else "w6"
    return Record(
        id=f"i{number:03d}",
        system="theirs",
        opened_at=90.0,
        evidence=seen,
        reports=(Report(text.format(place), writer),),
        labels=(Label(template, ((blank, place),), 3, 1.0, 0.0),),
        fault=FaultRecord(kind, "made", place, "1"),
        split=split,
    )


def test_tools_without_a_backend_are_checked_learnt_measured_and_recommended(
    revelio: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from revelio.training.arguments import TrainArguments
    from revelio.training.train import train

    catalog, data, model = tmp_path / "theirs.yaml", tmp_path / "data", tmp_path / "model"
    catalog.write_text(CATALOG)
    kinds = tuple(KINDS)
    runs = [incident(i, kinds[i % 3], PLACES[(i // 3) % 4], "train" if i < 30 else "repeat") for i in range(36)]
    write_records(data / "incidents" / "all.jsonl.xz", runs)
    write_records(tmp_path / "incidents" / "i900.jsonl.xz", [incident(900, "crash", "gamma", "")])
    checked = revelio("catalog", "check", catalog, "--json")
    assert (checked.json["tools"], checked.json["templates"]) == (2, 3)

    train(TrainArguments(data, model, load_catalog(catalog), device="cpu", epochs=30, folds=3))

    measured = revelio("eval", "--dataset", data, "--model", model, "--catalog", catalog, "--split", "repeat", "--json")
    assert measured.code == 0, measured.err
    assert measured.json["splits"]["repeat"]["top3"] >= 0.8

    monkeypatch.setenv("REVELIO_MODEL", str(model))
    monkeypatch.setenv("REVELIO_CATALOG", f'["{catalog}"]')
    answered = revelio("recommend", "gamma goes away again and again", "--incident", "i900", "-k", "3", "--json")
    assert answered.code == 0, answered.err
    first = answered.json["queries"][0]
    assert (first["tool"], first["text"], first["link"]) == ("assistant", 'get_pod_restarts(pod="gamma")', None)

    ran = revelio("run", first["id"], "--incident", "i900")
    assert ran.code == 1
    assert "was not run when i900 was recorded" in ran.err
