"""What imported questions return, read with a snapshot: those that return nothing are no candidates."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterable, Sequence

from revelio.catalog.conventions import Profile
from revelio.catalog.imports.promql import entity_of, everywhere
from revelio.errors import SourceError
from revelio.support.telemetry import Workers
from revelio.tools.base import Scope
from revelio.tools.prometheus import promql
from revelio.tools.prometheus.answers import PromSeries
from revelio.tools.prometheus.snapshot import AT_ONCE, Range
from revelio.types import Entity, Query, QueryTemplate, Series

REQUESTS = 6
"""Requests that imported questions add to a snapshot."""

TOGETHER = 12
"""Questions in one request."""

SILENT_S = 900.0
"""How long a question that returned nothing is left out, so that others get their turn, in seconds."""

MOST_SERIES = 40
"""Series of one question that are kept."""

_MARK = "revelio_question"

log = logging.getLogger(__name__)


class ImportedSeries:
    """The imported questions of one Prometheus. Safe to share between threads.

    Of many, each snapshot reads ``REQUESTS`` x ``TOGETHER``: those that returned something before, then those that wait.
    """

    def __init__(self, templates: Iterable[QueryTemplate]) -> None:
        """Those of the templates that were imported."""
        self._templates = tuple(t for t in templates if t.origin is not None)
        self._silent: dict[str, float] = {}
        self._lock = threading.Lock()

    def read(self, ask: Range, profile: Profile, step_s: float, scope: Scope) -> tuple[Series, ...]:
        """The series of the questions of this turn, by template id; a question that fails is left out."""
        chosen = self._turn()
        parts = [chosen[i : i + TOGETHER] for i in range(0, len(chosen), TOGETHER)]
        rate = profile.rate_interval_s(step_s)
        with Workers(max_workers=AT_ONCE) as pool:
            answered = [pair for part in pool.map(lambda some: _ask(ask, some, rate, scope), parts) for pair in part]
        now = time.monotonic()
        found: list[Series] = []
        for template, answers in answered:
            own = list(_series(template, answers, profile))[:MOST_SERIES]
            found += own
            with self._lock:
                if own:
                    self._silent.pop(template.id, None)
                else:
                    self._silent[template.id] = now
        return tuple(found)

    def _turn(self) -> Sequence[QueryTemplate]:
        now = time.monotonic()
        with self._lock:
            waiting = [t for t in self._templates if now - self._silent.get(t.id, -math.inf) >= SILENT_S]
        return waiting[: REQUESTS * TOGETHER]


def _ask(ask: Range, some: Sequence[QueryTemplate], rate_s: float, scope: Scope) -> list[tuple[QueryTemplate, list[PromSeries]]]:
    texts = {t.id: _text(t, rate_s, scope) for t in some}
    if len(some) > 1:
        marked = " or ".join(f'label_replace({texts[t.id]}, "{_MARK}", "{i}", "", "")' for i, t in enumerate(some))
        try:
            answers = ask(marked)
            return [(t, [a for a in answers if a.labels.get(_MARK) == str(i)]) for i, t in enumerate(some)]
        except SourceError:
            half = len(some) // 2  # one of them is at fault: it is found by halves
            return [*_ask(ask, some[:half], rate_s, scope), *_ask(ask, some[half:], rate_s, scope)]
    try:
        return [(some[0], ask(texts[some[0].id]))]
    except SourceError as error:
        log.info("%s is not asked: %s", some[0].title, error)
        return [(some[0], [])]


def _text(template: QueryTemplate, rate_s: float, scope: Scope) -> str:
    body = everywhere(template.body, rate_s)
    return f"({promql.filled(Query(QueryTemplate(template.id, template.tool, template.title, '', body)), scope)})"


def _series(template: QueryTemplate, answers: Iterable[PromSeries], profile: Profile) -> Iterable[Series]:
    """One series for each thing that the placeholders can stand for; of several the one that comes first."""
    labels = [blank.name for blank in template.blanks]
    known: set[Entity] = set()
    for answer in answers:
        if not answer.times:
            continue
        names = [profile.identity.component(label, answer.labels.get(label, "")) for label in labels]
        if not all(names):
            continue
        told = ",".join(f"{k}={v}" for k, v in sorted(answer.labels.items()) if k not in (_MARK, "__name__"))
        entities = [entity_of(label, name) for label, name in zip(labels, names, strict=True)] or [
            Entity("series", told or "all")
        ]
        for entity in entities:
            if not labels or entity not in known:
                known.add(entity)
                yield Series(entity, template.id, "", answer.times, answer.values)
