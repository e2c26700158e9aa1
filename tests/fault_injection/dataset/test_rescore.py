"""Recorded series are read by the catalog as it is now."""

from __future__ import annotations

import pytest

from fault_injection.dataset.rescore import rescore
from revelio.catalog import Catalog, Metric, ToolSpec
from revelio.systems.incidents.exchange import Record
from revelio.types import Entity, Evidence, QueryTemplate, Reading, RecordedResult, Result, Series, Window

CART = Entity("container", "cart")
BOUND = (("container", "cart"),)


def catalog(noise: float) -> Catalog:
    template = QueryTemplate(
        "prometheus.cpu", "prometheus", "CPU", "", "cpu", reads=(Reading(source="series", metric="cpu", direction="up"),)
    )
    metric = Metric("cpu", "cpu", "container", "container", "cores", noise, "up")
    return Catalog((ToolSpec("prometheus", "Prometheus", "", (template,), (metric,)),))


def run(signal: float, healthy: float | None, template: str = "prometheus.cpu") -> Record:
    """A figure of 1 that is 2 from the window's start."""
    times = tuple(float(t) for t in range(0, 40, 2))
    series = Series(CART, "cpu", "cores", times, tuple(2.0 if t >= 20 else 1.0 for t in times))
    result = RecordedResult(template, BOUND, Result("", signal, "", series=(series,)), healthy)
    return Record("a", "shop", 40.0, Evidence(Window(20, 40), Window(0, 20)), results=(result,))


def test_a_signal_that_a_lower_noise_floor_makes_significant_comes_with_its_signal_in_health() -> None:
    (again,) = rescore(run(0.1, None), catalog(noise=0.01))
    assert again.result.signal > 0.5
    assert again.healthy_signal is not None and again.healthy_signal < 0.5


def test_a_signal_that_a_higher_noise_floor_hides_is_absent() -> None:
    (again,) = rescore(run(0.9, 0.0), catalog(noise=5.0))
    assert again.result.signal < 0.5
    assert again.healthy_signal is None


@pytest.mark.parametrize(("signal", "template"), [(0.93, "prometheus.cpu"), (0.1, "prometheus.gone")])
def test_what_would_be_told_alike_or_is_asked_no_more_stays_as_recorded(signal: float, template: str) -> None:
    record = run(signal, 0.2, template)
    assert rescore(record, catalog(noise=0.01)) == record.results
