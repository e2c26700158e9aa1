"""What a snapshot costs a large Prometheus: 50 services and 200,000 series, in requests and processor time."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import httpx
import pytest

from revelio.catalog import bundled_catalog
from revelio.settings import Backend, SystemSettings
from revelio.systems.system import System, open_system
from revelio.systems.time_range import TimeRange
from revelio.tools.fetch import Fetcher
from revelio.tools.prometheus.earlier import AGO_S
from tests.foreign.backfill import Written, prometheus_with_history
from tests.foreign.programs import Programs

pytestmark = pytest.mark.foreign

SERVICES, PATHS, STATUSES, BOUNDS = 50, 10, ("200", "404", "500"), (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
OWN_METRICS, INSTANCES = 300, 12
MOST_REQUESTS, MOST_SECONDS, SNAPSHOTS = 30, 3.0, 5
SPACING_S, HISTORY_S, WRITING_S = 60.0, 4800.0, 900.0
EARLIER_S = 900.0
"""What an earlier window needs: its own length, and the range of a rate before it."""


def load(start: float) -> Iterator[Written]:
    """Histograms of requests, and metrics that no convention covers, of every service."""

    def grow(rate: float) -> Written:
        return Written("", lambda at: rate * (at - start))

    for service in range(SERVICES):
        job = f'job="service-{service}"'
        yield Written(f'up{{{job},instance="i0"}}', lambda at: 1.0)
        for path in range(PATHS):
            for status in STATUSES:
                labels = f'{job},instance="i0",method="GET",path="/p{path}",status="{status}"'
                for index, bound in enumerate([*BOUNDS, "+Inf"]):
                    name = f'http_request_duration_seconds_bucket{{{labels},le="{bound}"}}'
                    yield Written(name, grow(index + 1.0).value)
                yield Written(f"http_request_duration_seconds_count{{{labels}}}", grow(10.0).value)
                yield Written(f"http_request_duration_seconds_sum{{{labels}}}", grow(1.0).value)
        for metric in range(OWN_METRICS):
            end = "_total" if metric % 2 else ""
            for instance in range(INSTANCES):
                name = f'shop_thing_{metric}{end}{{{job},instance="i{instance}"}}'
                yield Written(name, grow(1.0 + instance).value if end else lambda at: 5.0 + at % 7)


def kept(end: float, at: float) -> bool:
    """Whether a moment is needed: of today, or of the same window of a day and a week before."""
    return at >= end - WRITING_S - HISTORY_S or any(end - ago - WRITING_S - EARLIER_S <= at <= end - ago for ago in AGO_S)


def query_seconds(url: str) -> float:
    """How long the server has worked on queries, in seconds, as it counts itself."""
    page = httpx.get(f"{url}/metrics", timeout=30.0).text
    slices = re.findall(r'^prometheus_engine_query_duration_seconds_sum\{slice="(\w+)"\} (\S+)$', page, re.MULTILINE)
    return sum(float(value) for name, value in slices if name in ("inner_eval", "prepare_time", "result_sort"))


def cpu_seconds(url: str) -> float:
    """The processor time that the server has used, in seconds: it does not grow with what else the machine does."""
    page = httpx.get(f"{url}/metrics", timeout=30.0).text
    return float(re.findall(r"^process_cpu_seconds_total (\S+)$", page, re.MULTILINE)[0])


@pytest.fixture(scope="module")
def large() -> Iterator[tuple[System, str]]:
    """The system and its server's address."""
    if shutil.which("promtool") is None:
        pytest.skip("apt-get install --no-install-recommends prometheus")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        programs = Programs(Path(name))
        end = time.time() // SPACING_S * SPACING_S + WRITING_S  # to write it takes minutes
        try:
            start = end - AGO_S[-1] - WRITING_S - EARLIER_S
            url = prometheus_with_history(programs, load(start), start, end, spacing_s=SPACING_S, kept=partial(kept, end))
            system = open_system(
                "shop", SystemSettings(backends={"prometheus": Backend(url=url)}), bundled_catalog(), timeout_s=30.0
            )
            yield system, url
            system.close()
        finally:
            programs.close()


def test_a_snapshot_of_200_000_series_is_cheap(large: tuple[System, str], monkeypatch: pytest.MonkeyPatch) -> None:
    system, url = large
    scope = system.scope_at(TimeRange(), time.time())
    first = query_seconds(url)
    system.snapshot(scope)  # finds out what is there; that is kept for ten minutes
    asked: list[str] = []
    ask = Fetcher.post

    def counted(self: Fetcher, path: str, form: Mapping[str, str]) -> object:
        asked.append(path)
        return ask(self, path, form)

    monkeypatch.setattr(Fetcher, "post", counted)
    before, costs = query_seconds(url), list[tuple[float, float, float]]()
    for _ in range(SNAPSHOTS):
        asked.clear()
        worked, used, began = query_seconds(url), cpu_seconds(url), time.monotonic()
        evidence = system.snapshot(scope)
        costs.append((cpu_seconds(url) - used, query_seconds(url) - worked, time.monotonic() - began))
    used, worked, took = min(costs)  # whatever else the machine does only adds to it
    print(f"\n{len(asked)} requests, {used:.1f} s of processor time, {worked:.1f} s of query time, {took:.1f} s in all")
    print(f"the first one, with discovery: {before - first:.1f} s of query time; load {os.getloadavg()[0]:.1f}; all {costs}")
    print(f"{len(evidence.series)} series, missing {evidence.missing}")
    assert evidence.missing == ()
    assert len(evidence.series) >= 3 * SERVICES
    assert all(len(one.earlier) == len(AGO_S) for one in evidence.series)
    assert len(asked) <= MOST_REQUESTS
    assert used <= MOST_SECONDS
