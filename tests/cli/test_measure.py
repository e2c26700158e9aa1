"""What ``revelio bench`` measures with, and how it tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from revelio.catalog import Catalog
from revelio.cli.measure import Figure, enlarged, snapshot_figure
from revelio.errors import RevelioError
from revelio.service import Service
from revelio.settings import SystemSettings
from revelio.systems.system import System
from revelio.tools.base import Scope
from revelio.types import Entity, Evidence, Window
from tests.cli.made import CommandLine
from tests.webui import made


def test_an_enlarged_incident_has_as_many_candidates_as_wanted_at_parts_of_other_names(tmp_path: Path) -> None:
    settings = made.settings(tmp_path, made.record())
    service = Service(settings, recommender=made.stand_in(settings))
    small = made.record().incident()
    large = enlarged(service, small, 100)
    queries = service.recommender.candidates(large)
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
    monkeypatch.setattr("revelio.cli.measure.measure", lambda service, rounds, progress, system: found)
    out = revelio("bench").out
    first = next(x for x in out.splitlines() if "first" in x)
    assert first.split()[:7] == ["first", "answer", "1.25", "s", "2", "s", "holds"]
    assert "EXCEEDED" in next(x for x in out.splitlines() if "resident" in x)
    assert revelio("bench", "--json").json[1]["holds"] is False


class _Live(System):
    """A system whose snapshots are ready at once, with or without one of its tools."""

    def __init__(self, missing: tuple[str, ...]) -> None:
        super().__init__("shop", SystemSettings(), Catalog(()), {})
        self._missing = missing

    def snapshot(self, scope: Scope | float, window_s: float | None = None, baseline_s: float | None = None) -> Evidence:
        return Evidence(Window(0.0, 1.0), Window(-1.0, 0.0), (Entity("container", "cart"),), missing=self._missing)


def test_a_live_snapshot_is_timed_and_one_that_misses_a_tool_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    figure = snapshot_figure(_Live(()))
    assert figure.holds
    assert "1 container;" in figure.detail
    with pytest.raises(RevelioError, match="jaeger did not answer"):
        snapshot_figure(_Live(("jaeger",)))


def test_without_a_recorded_incident_there_is_nothing_to_measure_with(revelio: CommandLine) -> None:
    ran = revelio("bench")
    assert ran.code == 1
    assert "no recorded incident" in ran.err
