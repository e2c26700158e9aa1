"""A small made-up system to train on in seconds: five components, three tools, one of which a fault lights up."""

from __future__ import annotations

import fcntl
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from revelio.catalog import Catalog, load_catalog
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.systems.incidents.exchange import FaultRecord, Label, Record, Report
from revelio.types import Entity, Evidence, LogPattern, Series, StateChange, Window

CATALOG = """
tool: meters
title: Meters
about: Figures over time
metrics:
  cpu: {query: "x", entity: container, label: container, unit: cores, noise: 0.05}
templates:
  - {id: meters.cpu, title: "CPU use of ${container}", body: "cpu{container=\\"${container}\\"}", blanks: {container: container},
     reads: [{source: series, metric: cpu, direction: up}]}
  - {id: meters.memory, title: "Memory of ${container}", body: "mem{container=\\"${container}\\"}",
     blanks: {container: container},
     reads: [{source: series, metric: memory, direction: up}]}
---
tool: journal
title: Log search
templates:
  - {id: journal.errors, title: "Errors logged by ${service}", body: "level:ERROR AND service:${service}",
     blanks: {service: service},
     reads: [{source: logs, metric: problems}]}
  - {id: journal.new, title: "New log messages anywhere", body: "new", reads: [{source: logs, metric: new}]}
---
tool: states
title: Container states
templates:
  - {id: states.now, title: "State of ${container}", body: "inspect", blanks: {container: container},
     reads: [{source: changes, metric: status}]}
"""
PLACES = ("alpha", "beta", "gamma", "delta", "omega")
KINDS = {"hog": ("meters.cpu", "container"), "bug": ("journal.errors", "service"), "stop": ("states.now", "container")}
REPORTS = {"hog": "the {} page is slow", "bug": "an error on the {} page", "stop": "{} hangs and never answers"}


@pytest.fixture(scope="session")
def catalog_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("catalog") / "small.yaml"
    path.write_text(CATALOG)
    return path


@pytest.fixture(scope="session")
def catalog(catalog_file: Path) -> Catalog:
    return load_catalog(catalog_file)


@pytest.fixture(scope="session")
def model(catalog: Catalog, incidents: list[LabelledIncident], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder, trained on the small system: once, however many workers run the tests."""
    pytest.importorskip("torch")
    from revelio.systems.incidents.exchange import write_records
    from revelio.training.arguments import TrainArguments
    from revelio.training.train import train

    own = tmp_path_factory.getbasetemp()
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with (folder / "train.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "model").is_dir():
            write_records(folder / "data" / "incidents" / "part.jsonl.xz", [i.record for i in incidents])
            train(TrainArguments(folder / "data", folder / "half", catalog, device="cpu", epochs=40, folds=3))
            (folder / "half").rename(folder / "model")
    return folder / "model"


def evidence(kind: str, place: str, rng: random.Random) -> Evidence:
    start = 1_700_000_000.0
    window, baseline = Window(start + 20, start + 40), Window(start, start + 20)
    times = tuple(start + 2 * i for i in range(20))
    series, logs = [], []
    for name in PLACES:
        for metric in ("cpu", "memory"):
            raised = 2.0 if (kind, metric, name) == ("hog", "cpu", place) else 0.0
            values = tuple(0.3 + rng.gauss(0, 0.01) + (raised if t >= window.start else 0.0) for t in times)
            series.append(Series(Entity("container", name), metric, "", times, values))
        failing = 40 if (kind, name) == ("bug", place) else 0
        logs.append(LogPattern(Entity("service", name), "ERROR", "failed <n>", failing, 0, window.start))
    changes = (StateChange(Entity("container", place), window.start, "status", "running", "exited"),) if kind == "stop" else ()
    entities = tuple(Entity(k, n) for n in PLACES for k in ("service", "container"))
    return Evidence(window, baseline, entities, tuple(series), tuple(logs), (), changes)


def labelled(number: int, kind: str, place: str, split: str = "train") -> LabelledIncident:
    rng = random.Random(number)
    labels: tuple[Label, ...] = ()
    if kind in KINDS:
        template, blank = KINDS[kind]
        labels = (Label(template, ((blank, place),), 3, 1.0, 0.0),)
    text = REPORTS.get(kind, "just wondering about {}").format(place)
    record = Record(
        id=f"i{number:03d}",
        system="small",
        opened_at=1_700_000_040.0,
        evidence=evidence(kind, place, rng),
        reports=(Report(text), Report(text.upper())),
        labels=labels,
        fault=FaultRecord(kind, "control" if kind == "none" else "made", place, "1"),
        split=split,
    )
    return LabelledIncident(record, split)


@pytest.fixture(scope="session")
def incidents() -> list[LabelledIncident]:
    kinds = [*KINDS, "none"]
    return [labelled(i, kinds[i % len(kinds)], PLACES[(i // 4) % len(PLACES)]) for i in range(40)]


@pytest.fixture
def write_dataset(tmp_path: Path) -> Callable[[list[LabelledIncident]], Path]:
    def write(incidents: list[LabelledIncident]) -> Path:
        from revelio.systems.incidents.exchange import write_records

        write_records(tmp_path / "data" / "incidents" / "part.jsonl.xz", [i.record for i in incidents])
        return tmp_path / "data"

    return write
