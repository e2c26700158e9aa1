"""How often a Prometheus measures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from statistics import median, median_high
from typing import Protocol

import yaml

from revelio.catalog.conventions import Cadence
from revelio.errors import SourceError
from revelio.settings.profile import ProfileSettings
from revelio.support.bounded_yaml import read_yaml

USUAL_S = 15.0
"""What is taken where nothing says it, in seconds."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d+)(ms|s|m|h)")


class MetadataApi(Protocol):
    """The part of the HTTP API that is needed here."""

    def get(self, path: str, params: Mapping[str, str]) -> object:
        """The JSON that ``GET path?params`` answers."""

    def post(self, path: str, form: Mapping[str, str]) -> object:
        """The JSON that ``path`` answers to a form."""


def cadence(ask: MetadataApi, settings: ProfileSettings, metric: str) -> tuple[Cadence, list[str]]:
    """The scrape interval of the settings, of its configuration, or as measured on a metric; and what to say about it."""
    if settings.scrape_interval_s:
        return Cadence(settings.scrape_interval_s), []
    found = _configured(ask) or (_measured(ask, metric) if metric else None)
    if found:
        return Cadence(found), []
    return Cadence(USUAL_S), [f"how often it scrapes is not known; {USUAL_S:g} s is taken (set scrape_interval_s otherwise)"]


def _configured(ask: MetadataApi) -> float | None:
    """The interval that most jobs have."""
    try:
        answer = ask.get("/api/v1/status/config", {})
        text = answer["data"]["yaml"]  # type: ignore[index]
        parsed = read_yaml(text)
        usual = parsed.get("global", {}).get("scrape_interval", "1m")
        every = [duration_s(str(job.get("scrape_interval", usual))) for job in parsed.get("scrape_configs") or ()]
        return median_high(every) if every else None
    except (SourceError, KeyError, TypeError, AttributeError, ValueError, yaml.YAMLError):
        return None


def _measured(ask: MetadataApi, metric: str) -> float | None:
    """The distance of the samples of some series."""
    try:
        answer = ask.post("/api/v1/query", {"query": f"{metric}[5m]"})
        series = [[float(t) for t, _ in one["values"]] for one in answer["data"]["result"][:200]]  # type: ignore[index]
    except (SourceError, KeyError, TypeError, ValueError):
        return None
    steps = [later - earlier for times in series for earlier, later in pairwise(times)]
    return round(median(steps), 1) or None if steps else None


def duration_s(text: str) -> float:
    """A duration as Prometheus writes it, in seconds; ``ValueError`` when it is none."""
    if not text or _DURATION.sub("", text):
        raise ValueError(f"{text!r} is not a duration")
    return sum(int(n) * _UNITS[unit] for n, unit in _DURATION.findall(text))
