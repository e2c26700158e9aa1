"""The same window a day and a week before: what is always so at this hour is no deviation."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from revelio.errors import SourceError
from revelio.support.anomaly import split
from revelio.support.deadline import end, until
from revelio.tools.base import Scope
from revelio.types import Series, Window

DAY_S = 86_400.0

AGO_S = (DAY_S, 7 * DAY_S)
"""How long before the window the earlier ones are, in seconds."""

REQUESTS = 2
"""Requests that a snapshot spends on one earlier window."""

_SHARE = 0.5
"""The share of the time left that earlier windows may take: an answer without them is better than none."""

log = logging.getLogger(__name__)

Look = Callable[[Scope], Iterable[Series]]
"""Reads the series of a scope that consists of its baseline alone."""


def with_earlier(series: Sequence[Series], look: Look, scope: Scope, seconds: float) -> tuple[Series, ...]:
    """The series with their values of earlier windows, as far as the store holds them and tells them in time.

    ``seconds`` is the longest wait for one request. Never raises ``SourceError``.
    """
    known = {(one.entity, one.metric): list[tuple[float, ...]]() for one in series}
    now = time.monotonic()
    with until(now + _SHARE * (end(seconds) - now)):
        for where in _scopes(scope) if known else ():
            try:
                found = [(one, split(one.times, one.values, where.baseline, where.window)[0]) for one in look(where)]
            except SourceError as error:
                log.info("the same hour of an earlier day is left out: %s", error)
                break
            if not any(values for _, values in found):
                break  # what does not reach back a day does not reach back a week
            for one, values in found:
                if values and (one.entity, one.metric) in known:
                    known[one.entity, one.metric].append(tuple(values))
    return tuple(replace(one, earlier=tuple(known[one.entity, one.metric])) for one in series)


def _scopes(scope: Scope) -> Iterator[Scope]:
    window = scope.window
    for ago in AGO_S:
        if window.seconds < ago:
            past = Window(window.start - ago, window.end - ago)
            yield Scope(scope.project, Window(past.end, past.end), past)
