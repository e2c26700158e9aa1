"""What was there and is not is on or off, whatever share of the window it was gone for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from revelio.catalog.presence import GONE_SIGMA, absences, off, sigma
from revelio.encoders.deviations import series_deviations
from revelio.ranker.no_fault import DOWN, supported
from revelio.systems.incidents.exchange import read_records
from revelio.types import Entity, Evidence, LogPattern, Series, StateChange, Window

CACHE, SHOP = Entity("cache", "redis"), Entity("service", "shop")
SEEN = Evidence(Window(3600.0, 4200.0), Window(0.0, 3600.0), entities=(CACHE, SHOP))


def cache_up(*down: float) -> Series:
    times = tuple(float(t) for t in range(0, 4200, 15))
    return Series(CACHE, "cache_up", "", times, tuple(0.0 if t in down else 1.0 for t in times))


def test_a_store_that_was_killed_half_a_minute_ago_is_gone_not_a_little_lower() -> None:
    series = cache_up(4170.0, 4185.0)
    found = series_deviations([series], SEEN.baseline, SEEN.window, np.array([0.1]))
    assert found.below[0] == GONE_SIGMA and found.above[0] < 0
    [absence] = absences(replace(SEEN, series=(series,)))
    assert (absence.entity, absence.at, absence.until, absence.told_by) == (CACHE, 4170.0, None, "cache_up")


def test_a_real_redis_that_was_killed_is_the_one_thing_that_went_away() -> None:
    """Prometheus 2.42 with the exporters of Redis and of the host, and caddy, scraped every 5 s; Redis was killed 70 s before."""
    [record] = read_records(Path(__file__).parent / "recordings" / "redis-killed.jsonl.xz")
    [absence] = absences(record.evidence)
    assert (absence.entity, absence.until, absence.told_by) == (CACHE, None, "cache_up")
    assert supported(0.99, record.evidence) == DOWN
    assert {s.entity.name for s in record.evidence.series if s.metric == "up"} > {"redis"}, "the exporter itself still answers"


def test_what_came_back_says_when() -> None:
    [absence] = absences(replace(SEEN, series=(cache_up(4050.0, 4065.0),)))
    assert (absence.at, absence.until) == (4050.0, 4080.0)


def test_one_late_scrape_is_no_absence() -> None:
    series = cache_up(4050.0)
    assert absences(replace(SEEN, series=(series,))) == ()
    assert 0.0 < sigma(off(series, SEEN.baseline, SEEN.window)) < GONE_SIGMA


def test_what_was_never_there_is_not_gone() -> None:
    assert absences(replace(SEEN, series=(cache_up(*(float(t) for t in range(0, 4200, 15))),))) == ()


def test_a_stopped_container_is_gone_until_it_starts_again() -> None:
    box = Entity("container", "redis")
    died = StateChange(box, 4000.0, "state", "running", "exited with code 137")
    [gone] = absences(replace(SEEN, changes=(died,)))
    assert (gone.entity, gone.until, gone.words) == (box, None, "exited with code 137")
    [back] = absences(replace(SEEN, changes=(died, StateChange(box, 4010.0, "started", "not running", "running"))))
    assert back.until == 4010.0


def test_a_job_that_ran_and_was_done_is_not_gone() -> None:
    job = Entity("container", "migrate")
    ran = StateChange(job, 4000.0, "started", "not running", "running")
    assert absences(replace(SEEN, changes=(ran, StateChange(job, 4009.0, "state", "running", "exited with code 0")))) == ()


@pytest.mark.parametrize(
    "line",
    [
        "dial tcp: lookup redis on 127.0.0.11:53: no such host",
        "Error: connect ECONNREFUSED redis:6379",
        "Error 111 connecting to redis:6379. Connection refused.",
        "getaddrinfo ENOTFOUND redis",
        "[WARNING] Server app/redis is DOWN, reason: Layer4 connection problem, to redis",
        "could not connect to redis.shop.svc.cluster.local:6379: connection refused",
    ],
)
def test_who_refuses_connections_is_named_by_those_who_are_refused(line: str) -> None:
    said = LogPattern(Entity("log_source", "shop"), "ERROR", line, 40, 0, 4100.0, line)
    [absence] = absences(replace(SEEN, logs=(said,)))
    assert (absence.entity, absence.at) == (CACHE, 4100.0)
    assert absences(replace(SEEN, logs=(replace(said, baseline_count=240),))) == ()
