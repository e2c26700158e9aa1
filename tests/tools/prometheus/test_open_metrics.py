"""Metrics that no convention covers: what only grows is read as a rate, and what watches the system is no part of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from revelio.catalog.conventions import Profile, recorded_profile
from revelio.errors import SourceError
from revelio.tools.base import Scope
from revelio.tools.prometheus.answers import PromSeries
from revelio.tools.prometheus.open_metrics import OpenMetrics
from revelio.types import Window

SCOPE = Scope("shop", Window(3600.0, 4200.0), Window(0.0, 3600.0))
PROFILE = replace(recorded_profile(), monitors=("loki", "prometheus"))


class Server:
    """Holds two metrics, of which one only grows, and answers each request with what leaves its past."""

    def __init__(self, *, slow: bool = False) -> None:
        self.slow = slow
        self.asked: list[str] = []

    def instant(self, text: str, at: float) -> list[tuple[dict[str, str], float]]:
        self.asked.append(text)
        if text.startswith("count by (__name__)"):
            return [({"__name__": "mysql_status_syncs"}, 1.0), ({"__name__": "waiting_orders"}, 1.0)]
        if "resets" in text:
            if self.slow:
                raise SourceError("prometheus", "is too slow")
            return [({"revelio_metric": "mysql_status_syncs"}, 30.0)]
        return []

    def read(self, metrics: OpenMetrics, profile: Profile = PROFILE) -> None:
        metrics.read(self.instant, lambda text: list[PromSeries](), profile, 30.0, SCOPE)

    def screened(self, metric: str) -> str:
        return next(text for text in self.asked if metric in text and text.startswith("topk"))


def test_a_metric_that_only_grows_is_screened_by_its_rate() -> None:
    server = Server()
    server.read(OpenMetrics())
    assert "rate(" in server.screened("mysql_status_syncs")
    assert "rate(" not in server.screened("waiting_orders")


def test_a_server_that_is_too_slow_to_tell_what_grows_is_screened_all_the_same() -> None:
    server = Server(slow=True)
    server.read(OpenMetrics())
    assert "rate(" not in server.screened("mysql_status_syncs")


def test_what_keeps_metrics_and_logs_is_not_screened() -> None:
    server = Server()
    server.read(OpenMetrics())
    assert 'job!~"loki|prometheus"' in server.asked[0]


@pytest.mark.parametrize("known", [True, False])
def test_what_grows_is_found_out_once(known: bool) -> None:
    server, metrics = Server(), OpenMetrics()
    profile = replace(PROFILE, counters=frozenset({"mysql_status_syncs", "waiting_orders"})) if known else PROFILE
    for _ in range(2):
        server.read(metrics, profile)
    assert sum("resets" in text for text in server.asked) == (0 if known else 1)
