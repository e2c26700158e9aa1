"""Rules imported from a real Prometheus: asked where they have data, credited, and ranked beside the bundled ones."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from revelio.service import Service
from revelio.service.import_sources import import_questions
from revelio.service.request import RecommendRequest
from revelio.settings import Backend, Settings, SystemSettings
from revelio.settings.imports import ImportSettings
from tests.foreign.backfill import SCRAPE_S, Written, prometheus_with_history
from tests.foreign.programs import Programs

pytestmark = pytest.mark.foreign

RULES = """
groups:
- name: warehouse
  rules:
  - alert: OrdersPileUp
    expr: warehouse_orders_waiting > 100
    annotations: {summary: Orders wait too long in the warehouse, runbook_url: "https://wiki.example.com/orders"}
  - alert: TruckMissing
    expr: trucks_missing > 0
  - alert: Nonsense
    expr: rate(warehouse_orders_waiting[5m]) > 5 and on() absent(nothing)
"""


def waiting(began: float, at: float) -> float:
    return (5.0 if at < began else 400.0) + (round(at / 15) % 3)


def returned(began: float, at: float) -> float:
    """A counter that grows twenty times as fast since then."""
    return at % 1e6 / 10.0 + max(0.0, at - began) * 2.0


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """A shop whose Prometheus has rules, and two metrics that no convention knows rose five minutes ago."""
    if shutil.which("promtool") is None:
        pytest.skip("apt-get install --no-install-recommends prometheus")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        programs = Programs(Path(name))
        end = time.time() // SCRAPE_S * SCRAPE_S
        series = [Written(f'up{{job="{job}",instance="{job}:80"}}', lambda at: 1.0) for job in ("shop", "warehouse")]
        for job in ("shop", "warehouse"):
            began = end - 300 if job == "warehouse" else end + 1e9
            series.append(Written(f'warehouse_orders_waiting{{job="{job}",instance="{job}:80"}}', partial(waiting, began)))
            series.append(Written(f'parcels_returned_total{{job="{job}",instance="{job}:80"}}', partial(returned, began)))
        try:
            url = prometheus_with_history(programs, series, end - 3 * 3600, end, RULES)
            settings = Settings(
                systems={"shop": SystemSettings(backends={"prometheus": Backend(url=url)})},
                imports=ImportSettings(folder=Path(name) / "catalog"),
                database=f"sqlite:///{name}/store.db",
            )
            made = import_questions(settings, "rules", url, "team")
            assert (made.questions, made.problems) == (3, ())
            service = Service(settings)
            yield service
            service.close()
        finally:
            programs.close()


def test_an_imported_rule_with_data_is_ranked_and_credited(service: Service) -> None:
    answer = service.rank(RecommendRequest("orders wait too long in the warehouse", "shop", k=20, run=20))
    own = [q for q in answer.queries if q.query.template.origin]
    told = [f"{q.rank}. {q.probability:.2f} {q.query.title}" for q in answer.queries[:4]]
    print(f"\n{told}, no fault {answer.no_fault_probability:.2f}")
    assert "OrdersPileUp: Orders wait too long in the warehouse" in {q.query.title for q in own}
    pile_up = next(q for q in own if q.query.title.startswith("OrdersPileUp"))
    assert pile_up.rank <= 3
    assert pile_up.text == "warehouse_orders_waiting"
    assert pile_up.query.template.origin is not None
    assert pile_up.query.template.origin.url == "https://wiki.example.com/orders"
    assert pile_up.result is not None and pile_up.result.signal == 1.0


def test_a_rule_without_data_is_no_candidate(service: Service) -> None:
    answer = service.rank(RecommendRequest("a truck is missing", "shop", k=50))
    assert not [q.query.title for q in answer.queries if q.query.title.startswith("TruckMissing")]


def test_a_metric_that_no_convention_covers_is_found_by_screening(service: Service) -> None:
    answer = service.rank(RecommendRequest("orders wait too long in the warehouse", "shop", k=50, run=50))
    found = [q for q in answer.queries if q.query.template.id == "prometheus.open_metric"]
    print(f"\n{[(q.rank, q.query.title, q.text) for q in found]}")
    assert {dict(q.query.bindings)["series"] for q in found} == {
        "warehouse: warehouse_orders_waiting",
        "warehouse: parcels_returned_total",
    }
    assert found[0].result is not None
    assert (found[0].result.signal, len(found[0].result.series)) == (1.0, 1)
