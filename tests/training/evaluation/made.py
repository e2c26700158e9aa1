"""A small made dataset with known answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from revelio.catalog import Catalog, load_catalog
from revelio.systems.incidents.exchange import Label, Record, Report, write_records
from revelio.training.evaluation.method import Example, Scores, from_logits
from revelio.types import Entity, Evidence, Incident, Query, Series, Window

WINDOW, BASELINE = Window(60.0, 90.0), Window(0.0, 60.0)
SERVICES = ("cart", "orders", "payment")

CATALOG_YAML = """
tool: meter
title: A meter
metrics:
  cpu: {query: cpu, entity: container, label: c, noise: 0.05}
templates:
  - id: meter.cpu
    title: CPU of ${container}
    shows: processor use
    blanks: {container: container}
    reads: [{source: series, metric: cpu}]
  - id: meter.memory
    title: Memory of ${container}
    shows: bytes
    blanks: {container: container}
    reads: [{source: series, metric: memory}]
---
tool: logs
title: Logs
templates:
  - id: logs.errors
    title: Errors of ${container}
    shows: error lines
    blanks: {container: container}
    reads: [{source: logs, metric: error}]
"""


def catalog(folder: Path) -> Catalog:
    path = folder / "catalog.yaml"
    path.write_text(CATALOG_YAML, encoding="utf-8")
    return load_catalog(path)


def query(known: Catalog, template: str, place: str) -> Query:
    return Query(known.template(template), (("container", place),))


def evidence(hot: str = "") -> Evidence:
    """CPU of every service flat at 0.2; that of ``hot`` goes to 0.9 in the window."""
    times = tuple(float(t) for t in range(0, 90, 5))
    series = tuple(
        Series(Entity("container", s), "cpu", "cores", times, tuple(0.9 if s == hot and t >= 60 else 0.2 for t in times))
        for s in SERVICES
    )
    return Evidence(WINDOW, BASELINE, tuple(Entity("container", s) for s in SERVICES), series)


def record(identity: str, split: str, hot: str = "", texts: tuple[tuple[str, str], ...] = (), proven: bool = True) -> Record:
    """An incident whose cause is shown by the CPU of ``hot`` and hinted at by its errors; a control without ``hot``."""
    labels: tuple[Label, ...] = ()
    if hot:
        at = (("container", hot),)
        labels = (Label("meter.cpu", at, 3, proven=proven), Label("logs.errors", at, 1, proven=proven))
    reports = tuple(Report(text, writer) for writer, text in texts)
    return Record(identity, "made", 90.0, evidence(hot), reports, labels=labels, split=split)


def dataset(folder: Path, *records: Record) -> Path:
    write_records(folder / "incidents" / "all.jsonl", records)
    return folder


def example(
    known: Catalog, grades: dict[tuple[str, str], int], report: str = "slow", identity: str = "i", hot: str = ""
) -> Example:
    queries = tuple(query(known, t.id, s) for t in known.templates for s in SERVICES)
    values = np.array([grades.get((q.template.id, q.bindings[0][1]), 0) for q in queries], dtype=np.int64)
    return Example(Incident(identity, "made", report, 90.0, evidence(hot)), queries, values)


class Oracle:
    """Puts chosen queries first, in their order; raises on chosen incidents."""

    def __init__(self, *first: tuple[str, str], abstain: float = 0.1, raises: frozenset[str] = frozenset()) -> None:
        self.name = "oracle"
        self.first, self.abstain, self.raises = first, abstain, raises

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        if incident.id in self.raises:
            raise RuntimeError("cannot")
        order = {key: float(len(self.first) - i) for i, key in enumerate(self.first)}
        logits = np.array([order.get((q.template.id, q.bindings[0][1]), 0.0) for q in queries])
        return from_logits(logits, 0.9 if "calm" in incident.id else self.abstain)
