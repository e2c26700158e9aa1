"""Incidents of a kind that no model was trained on: recorded calm, and in it one container whose memory creeps up."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from revelio.systems.incidents.exchange import Record
from revelio.types import Entity, Evidence, Incident, Series

RIGHT = "prometheus.memory"
"""The template that shows the cause."""

REPORTS = (
    "It was fine this morning and gets more sluggish by the hour, a restart cures it for a while",
    "every evening the site crawls until somebody restarts things",
    "pages are snappy after a deploy and then slowly get worse over the day",
    "works ok at first but the longer it runs the slower it becomes",
)


def creeping(record: Record, number: int) -> tuple[Incident, str]:
    """The recording with a leak planted, and the id of the container that leaks."""
    lot = random.Random(number)
    seen = record.evidence
    places = sorted({s.entity.name for s in seen.series if s.metric == "memory" and s.entity.kind == "container"})
    place = lot.choice(places)
    growth = lot.uniform(0.3, 1.0)
    series = tuple(
        _leaking(s, growth, seen) if (s.entity, s.metric) == (Entity("container", place), "memory") else s for s in seen.series
    )
    incident = replace(record.incident(lot.choice(REPORTS)), evidence=replace(seen, series=series))
    return replace(incident, id=f"leak-{number}", opened_at=record.opened_at + 86_400.0 * number), place


def incidents(calm: list[Record], count: int, first: int = 0) -> Iterator[tuple[Incident, str]]:
    """So many of them, each in a place and a strength of its own."""
    for number in range(first, first + count):
        yield creeping(calm[number % len(calm)], number)


def _leaking(series: Series, growth: float, seen: Evidence) -> Series:
    span = seen.window.end - seen.window.start
    risen = (
        v * (1.0 + growth * max(0.0, (t - seen.window.start) / span)) for t, v in zip(series.times, series.values, strict=True)
    )
    return replace(series, values=tuple(risen))
