"""What ``revelio bench`` measures with, and how it tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from revelio.cli.measure import Figure, enlarged
from revelio.types import Entity
from revelio.workbench import Workbench
from tests.cli.made import CommandLine
from tests.webui import made


def test_an_enlarged_incident_has_as_many_candidates_as_wanted_at_parts_of_other_names(tmp_path: Path) -> None:
    settings = made.settings(tmp_path, made.record())
    bench = Workbench(settings, recommender=made.stand_in(settings))
    small = made.record().incident()
    large = enlarged(bench, small, 100)
    queries = bench.recommender.candidates(large)
    assert len({q.id for q in queries}) == len(queries) >= 100
    assert set(small.evidence.entities) < set(large.evidence.entities)
    copies = len(large.evidence.entities) // len(small.evidence.entities)
    assert len(large.evidence.series) == copies * len(small.evidence.series)
    copied = {s.entity: s.service for s in large.evidence.spans}
    assert copied[Entity("operation", "cart-2: GET /cart")] == "cart-2"


def test_figures_are_shown_beside_their_limits(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    found = (
        Figure("first answer", 1.25, "s", 2.0, True, "median of 3"),
        Figure("resident memory", 512.0, "MB", 400.0, False, "peak"),
    )
    monkeypatch.setattr("revelio.cli.measure.measure", lambda bench, rounds, progress: found)
    out = revelio("bench").out
    first = next(x for x in out.splitlines() if "first" in x)
    assert first.split()[:7] == ["first", "answer", "1.25", "s", "2", "s", "holds"]
    assert "EXCEEDED" in next(x for x in out.splitlines() if "resident" in x)
    assert revelio("bench", "--json").json[1]["holds"] is False


def test_without_a_recorded_incident_there_is_nothing_to_measure_with(revelio: CommandLine) -> None:
    ran = revelio("bench")
    assert ran.code == 1
    assert "no recorded incident" in ran.err
