"""Silence is a claim about what was seen: with sources missing it is drawn towards "cannot tell"."""

from __future__ import annotations

from dataclasses import replace

import pytest

from revelio.ranker.no_fault import DOWN, gone, short_history, supported
from revelio.types import Entity, Evidence, LogPattern, Series, Window

CART = Entity("service", "cart")
ALL = Evidence(
    Window(600.0, 1200.0),
    Window(0.0, 600.0),
    series=(Series(CART, "request_rate", "req/s", (1.0,), (1.0,)),),
    sources=("jaeger", "prometheus"),
)


def test_with_everything_seen_the_probability_stays() -> None:
    assert supported(0.99, ALL) == 0.99


def test_recordings_that_do_not_say_what_was_seen_stay_as_they_are() -> None:
    assert supported(0.99, replace(ALL, sources=None, missing=("jaeger",))) == 0.99


@pytest.mark.parametrize(("missing", "most"), [(("redis",), 0.83), (("redis", "postgres"), 0.75)])
def test_each_missing_source_widens_it(missing: tuple[str, ...], most: float) -> None:
    assert 0.5 < supported(0.99, replace(ALL, missing=missing)) <= most


def test_without_anything_that_users_feel_it_is_hardly_more_than_a_guess() -> None:
    hosts_only = replace(ALL, series=(Series(Entity("host", "a"), "host_cpu", "", (1.0,), (1.0,)),))
    assert 0.5 < supported(0.99, hosts_only) < 0.7
    assert supported(0.99, replace(hosts_only, logs=(LogPattern(CART, "INFO", "x", 1, 1, 0.0),))) == 0.99


def test_an_empty_look_says_nothing() -> None:
    assert supported(0.99, replace(ALL, series=())) == 0.5


def test_a_fault_stays_a_fault_however_little_was_seen() -> None:
    assert supported(0.2, replace(ALL, missing=("a", "b", "c"))) == 0.2


@pytest.mark.parametrize(
    ("metric", "before", "now", "is_gone"),
    [
        ("up", 1.0, 0.0, True),
        ("db_up", 1.0, 0.0, True),
        ("backend_down", 0.0, 1.0, True),
        ("probe_failing", 0.0, 1.0, True),
        ("up", 0.0, 0.0, False),
        ("up", 0.0, 1.0, False),
        ("request_rate", 5.0, 0.0, False),
    ],
)
def test_what_answered_before_and_does_not_now_is_a_fault(metric: str, before: float, now: float, is_gone: bool) -> None:
    times = tuple(float(t) for t in range(0, 1200, 30))
    values = tuple(now if t >= 1020.0 else before for t in times)
    seen = replace(ALL, series=(*ALL.series, Series(CART, metric, "", times, values)))
    assert gone(seen) == ((CART,) if is_gone else ())
    assert (supported(0.99, seen) == DOWN) == is_gone


def test_a_history_shorter_than_the_window_lowers_confidence_and_is_said() -> None:
    young = replace(ALL, history=(("logs", 540.0), ("spans", 600.0)))
    assert supported(0.99, young) == 0.5
    assert 0.5 < supported(0.99, replace(ALL, history=(("logs", 300.0),))) < 0.8
    assert short_history(young) == (
        "Of logs, only 60 s is known before the window of 600 s: what is usual is uncertain",
        "Of traces, nothing is known before the window of 600 s: what is usual is uncertain",
    )
