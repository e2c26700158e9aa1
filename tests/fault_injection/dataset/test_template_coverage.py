"""Where templates lit up and where they stayed dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fault_injection.dataset.template_coverage import newly_anomalous, template_coverage
from fault_injection.labels import Accepted
from revelio.errors import DatasetError
from revelio.systems.incidents.exchange import FaultRecord, Label, Record, write_records
from revelio.types import Evidence, RecordedResult, Result, Window

AT = (("container", "cart"),)
TEMPLATES = (("containers.state", "containers"), ("jaeger.slow", "jaeger"), ("redis.memory", "redis"))
LABELS: dict[str, tuple[Accepted, ...]] = {
    "container_pause": (Accepted(template="containers.state", grade=3), Accepted(template="jaeger.slow", grade=1))
}


def a_run(name: str, category: str, results: Mapping[str, Sequence[tuple[float, float | None]]], **proven: bool) -> Record:
    """A run with these (signal, healthy signal) pairs by template, and labels ``containers_state=True`` for proven ones."""
    told = [RecordedResult(t, AT, Result("", s, ""), h) for t, pairs in results.items() for s, h in pairs]
    return Record(
        id=name,
        system="shop",
        opened_at=90.0,
        evidence=Evidence(Window(60.0, 90.0), Window(0.0, 60.0)),
        results=tuple(told),
        labels=tuple(Label(t.replace("_", ".", 1), AT, 3, proven=p) for t, p in proven.items()),
        fault=FaultRecord("none" if category == "control" else "container_pause", category, "cart", "whole"),
    )


def written(folder: Path, *runs: Record) -> Path:
    for run in runs:
        write_records(folder / "incidents" / f"{run.id}.jsonl.xz", [run])
    return folder


def test_proven_labels_count_as_lit_and_the_others_as_accepted_only(tmp_path: Path) -> None:
    out = written(
        tmp_path,
        a_run("a", "component", {}, containers_state=True, jaeger_slow=False),
        a_run("b", "component", {}, containers_state=False),
    )
    state, slow, memory = template_coverage([out], TEMPLATES, LABELS)
    assert (state.accepted, state.proven, state.kinds, state.never_proven) == (2, 1, ("container_pause",), False)
    assert (slow.accepted, slow.proven, slow.kinds, slow.never_proven) == (1, 0, (), True)
    assert (memory.accepted, memory.never_proven) == (0, True)


def test_several_labels_of_one_template_count_their_incident_once(tmp_path: Path) -> None:
    run = a_run("a", "component", {}, containers_state=True)
    [state, *_] = template_coverage([written(tmp_path, replace(run, labels=run.labels * 3))], TEMPLATES, LABELS)
    assert (state.accepted, state.proven) == (1, 1)


def test_a_control_is_dark_where_no_query_spoke_up_that_had_been_silent_before(tmp_path: Path) -> None:
    out = written(
        tmp_path,
        a_run("a", "control", {"containers.state": [(0.0, None), (0.49, None)], "jaeger.slow": [(0.9, 0.8)]}),
        a_run("b", "control", {"containers.state": [(0.0, None), (0.5, 0.49)], "jaeger.slow": [(0.7, None)]}),
        a_run("c", "component", {"containers.state": [(1.0, 0.0)]}),
    )
    state, slow, memory = template_coverage([out], TEMPLATES, LABELS)
    assert (state.controls, state.quiet) == (2, 1)
    assert (slow.controls, slow.quiet) == (2, 1)
    assert (memory.controls, memory.quiet) == (0, 0)


def test_what_no_label_names_is_not_expected_to_light_up(tmp_path: Path) -> None:
    found = template_coverage([written(tmp_path, a_run("a", "control", {}))], TEMPLATES, LABELS)
    assert [light.expected for light in found] == [True, True, False]


@pytest.mark.parametrize(
    ("signal", "healthy", "spoke"), [(0.5, None, True), (0.5, 0.499, True), (0.499, 0.0, False), (1.0, 0.5, False)]
)
def test_a_query_speaks_up_when_it_shows_what_health_does_not(signal: float, healthy: float | None, spoke: bool) -> None:
    assert newly_anomalous(signal, healthy) is spoke


def test_a_folder_without_incidents_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="run a campaign first"):
        template_coverage([tmp_path], TEMPLATES, LABELS)
