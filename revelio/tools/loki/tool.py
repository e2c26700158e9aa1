"""Loki: logs, through its query API. Questions are those about logs of any store; here they are put into LogQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from urllib.parse import quote

from revelio.catalog import ToolSpec
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.telemetry import Workers
from revelio.tools import links, log_views
from revelio.tools.base import Limits, Scope
from revelio.tools.fetch import Fetcher, StatusError
from revelio.tools.history import History, observed
from revelio.tools.log_fields import begins_with_level, canonical
from revelio.tools.log_patterns import PROBLEMS, Lines, LogRecord, mine, phrases, recounted
from revelio.tools.log_views import STRETCH_S, Counts
from revelio.tools.loki import answers
from revelio.tools.loki.labels import Labels, find_labels
from revelio.tools.loki.logql import LETTER, MARK, UnsaidError, levels, logql, pattern_counted, rates
from revelio.tools.loki.strings import regex
from revelio.tools.loki.strings import text as quoted
from revelio.tools.placeholders import Tree, tree
from revelio.tools.single_flight_cache import SingleFlightCache
from revelio.types import Entity, Evidence, LogPattern, Query, Result, Window

SNAPSHOT_LINES, MAX_PATTERNS, SAMPLE_LINES, MAX_COUNTED = 1000, 200, 50, 20
FRESH_S = 600.0
"""How long the labels that were found hold, in seconds."""

LOOK_BACK_S = 6 * 3600.0
"""How far back labels are looked for."""

_OWN = re.compile(r"(loki|promtail|revelio)(-.*)?")
"""What belongs to Loki or to Revelio, which is not part of the system."""

_LOGQL = re.compile(r"\s*\{\s*\w+\s*(=|!)")
_MOST_POINTS = 5000

_FROM_THE_START = 0.01
"""The share of a baseline within which its first line tells that lines came in from its start on."""


class Loki:
    """The ``loki`` product."""

    def __init__(self, spec: ToolSpec, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self.name = spec.name
        self.retrospective = True
        self.backend = backend
        self.limits = limits
        self._fetch = Fetcher(spec.name, backend, limits)
        self._histories: SingleFlightCache[History | None] = SingleFlightCache(64, FRESH_S)
        self._labels: SingleFlightCache[Labels] = SingleFlightCache(16, FRESH_S)

    def ping(self) -> str:
        """Its version, where it tells it, and how many labels it has."""
        names = answers.names_in(self.name, self._fetch.get("/loki/api/v1/labels", {}))
        try:
            built = self._fetch.get("/loki/api/v1/status/buildinfo", {})
        except StatusError:  # a gateway may let queries through alone
            built = {}
        version = built.get("version", "") if isinstance(built, dict) else ""
        return f"Loki {version}, {len(names)} labels" if version else f"Loki, {len(names)} labels"

    def snapshot(self, scope: Scope) -> Evidence:
        """Patterns of problem lines and of all others, now and before, and how many there are of each component."""
        labels = self._found(scope)
        with Workers(max_workers=3) as pool:
            known = pool.submit(self._observed, scope, labels)
            parts = list(pool.map(lambda w: self._all_lines(w, labels), (scope.baseline, scope.window)))
            observed_scope = known.result()
        patterns = mine(*parts)
        patterns = self._recounted(patterns, [lines for part in parts for lines in part], labels, scope)
        seen = {line.source for part in parts for lines in part for line in lines.lines} | set(labels.names)
        return Evidence(
            window=scope.window,
            baseline=observed_scope.baseline,
            entities=tuple(sorted(Entity("log_source", name) for name in seen if name and not _OWN.fullmatch(name))),
            logs=tuple(p for p in patterns if p.entity.name and not _OWN.fullmatch(p.entity.name))[:MAX_PATTERNS],
        )

    def render(self, query: Query, scope: Scope) -> str:
        """LogQL, by the labels that were found last."""
        view, wanted = self._question(query, scope)
        labels = self._known(scope)
        said = self._said(wanted, labels)
        return rates(said, labels, STRETCH_S) if view == "levels" and labels.level else said

    def link(self, query: Query, scope: Scope) -> str | None:
        """Grafana Explore, where the settings name a Grafana and the uid of this data source in it."""
        if not self.backend.grafana or not self.backend.datasource:
            return None
        whole = Window(scope.baseline.start, scope.window.end)
        return links.grafana_logs(self.backend.grafana, self.backend.datasource, self.render(query, scope), whole)

    def run(self, query: Query, scope: Scope) -> Result:
        """Search baseline and window, and read what the view says."""
        view, wanted = self._question(query, scope)
        labels = self._found(scope)
        return self._views[view](wanted, labels, self._observed(scope, labels))

    def notes(self, project: str) -> tuple[str, ...]:
        """Whether its clock disagrees."""
        return self._fetch.notes

    def close(self) -> None:
        """Close the connections."""
        self._fetch.close()

    @cached_property
    def _views(self) -> Mapping[str, Callable[[Tree, Labels, Scope], Result]]:
        return {
            "lines": lambda wanted, labels, scope: log_views.listed(*self._compared(wanted, labels, scope), scope),
            "exceptions": lambda wanted, labels, scope: log_views.by_exception(*self._compared(wanted, labels, scope), scope),
            "levels": self._run_levels,
            "new_patterns": self._run_new_patterns,
            "trace": self._run_trace,
        }

    def _question(self, query: Query, scope: Scope) -> tuple[str, Tree]:
        """The view and the search of a body; a body that is plain text is LogQL of somebody's own."""
        if _LOGQL.match(query.template.body) and not query.template.blanks:
            return "lines", query.template.body.strip()
        body = tree(query, scope)
        view = str(body.get("view", "lines"))
        if view not in self._views:
            raise SourceError(self.name, f"the query's view is {view!r}; there are: {', '.join(self._views)}")
        return view, body.get("query", {"match_all": {}})

    def _said(self, wanted: Tree, labels: Labels) -> str:
        if isinstance(wanted, str):
            return wanted
        try:
            return logql(wanted, labels)
        except UnsaidError as error:
            raise SourceError(self.name, f"the query {error}") from error

    def _run_levels(self, wanted: Tree, labels: Labels, scope: Scope) -> Result:
        said = self._said(wanted, labels)
        if labels.level:
            asked = {"": rates(said, labels, STRETCH_S)}
        else:
            asked = {level: rates(f"{said} {levels((level,), labels)}", labels, STRETCH_S) for level in PROBLEMS}
            asked["INFO"] = rates(f"{said} {levels(PROBLEMS, labels, wanted=False)}", labels, STRETCH_S)
        counts: dict[str, dict[float, float]] = {}
        for level, text in asked.items():
            for held, points in answers.points_in(self.name, self._range(text, scope)):
                told = level or canonical(held.get(LETTER, "") or held.get(labels.level, ""))
                named = counts.setdefault(told or "INFO", {})
                for at, count in points.items():
                    named[at - STRETCH_S] = named.get(at - STRETCH_S, 0.0) + count
        return log_views.by_level(counts, scope)

    def _run_new_patterns(self, wanted: Tree, labels: Labels, scope: Scope) -> Result:
        said = self._said(wanted, labels)
        with Workers(max_workers=2) as pool:
            before, now = pool.map(lambda w: self._counted_lines(said, w, labels), (scope.baseline, scope.window))
        return log_views.new_patterns(self._recounted(mine(before, now), [*before, *now], labels, scope), scope)

    def _run_trace(self, wanted: Tree, labels: Labels, scope: Scope) -> Result:
        lines, counts = self._compared(wanted, labels, scope)
        latest = max((line for line in lines.lines if line.trace), key=lambda line: line.at, default=None)
        if latest is None:
            return log_views.listed(Lines(), counts, scope)
        whole = Window(scope.baseline.start, scope.window.end)
        said = self._said({"term": {"trace.id": latest.trace}}, labels)
        found = self._lines(said, whole, self.limits.rows, labels)
        return log_views.of_trace(latest.trace, Lines(found, len(found)), counts, scope)

    def _compared(self, wanted: Tree, labels: Labels, scope: Scope) -> tuple[Lines, Counts]:
        """The newest lines of the window, and how many there were then and now."""
        said = self._said(wanted, labels)
        with Workers(max_workers=3) as pool:
            lines = pool.submit(lambda: self._lines(said, scope.window, self.limits.rows, labels))
            before, now = pool.map(lambda w: sum(self._totals(said, w, labels).values()), (scope.baseline, scope.window))
        return Lines(lines.result(), round(now)), Counts(before, now)

    def _all_lines(self, window: Window, labels: Labels) -> list[Lines]:
        """The newest problem lines of a window and the newest others, by component, with how many there are in all."""
        every = f"{{{labels.any}}}"
        problems, others = (f"{every} {levels(PROBLEMS, labels, wanted=wanted)}" for wanted in (True, False))
        with Workers(max_workers=4) as pool:
            some, total = (pool.submit(self._totals, said, window, labels) for said in (problems, every))
            bad, good = (pool.submit(self._lines, said, window, SNAPSHOT_LINES, labels) for said in (problems, others))
            lines = (*bad.result(), *self._missed(bad.result(), some.result(), window, labels))
            rest = {source: count - some.result().get(source, 0.0) for source, count in total.result().items()}
            return [*_by_source(lines, some.result()), *_by_source(good.result(), rest)]

    def _missed(
        self, read: Sequence[LogRecord], totals: Mapping[str, float], window: Window, labels: Labels
    ) -> tuple[LogRecord, ...]:
        """Problem lines of components that have some, and of which none is among the newest that were read."""
        missed = sorted({source for source, count in totals.items() if count and source} - {line.source for line in read})
        if not missed or len(read) < SNAPSHOT_LINES:
            return ()
        names = "|".join(labels.naming.pattern(regex(name)) if labels.naming else regex(name) for name in missed[:MAX_PATTERNS])
        selector = ", ".join(m for m in (labels.selector, f"{labels.component}=~{quoted(names)}") if m)
        return self._lines(f"{{{selector}}} {levels(PROBLEMS, labels)}", window, SNAPSHOT_LINES, labels)

    def _counted_lines(self, said: str, window: Window, labels: Labels) -> list[Lines]:
        """The newest lines of a window by component, each with how many there are in all."""
        with Workers(max_workers=2) as pool:
            totals = pool.submit(self._totals, said, window, labels)
            lines = self._lines(said, window, SNAPSHOT_LINES, labels)
        return _by_source(lines, totals.result())

    def _recounted(
        self, patterns: Sequence[LogPattern], read: Sequence[Lines], labels: Labels, scope: Scope
    ) -> tuple[LogPattern, ...]:
        """The first patterns of components whose lines were read in part, with their true counts."""
        partly = {lines.lines[0].source for lines in read if lines.lines and lines.scale > 1.0}
        wanted = [i for i, p in enumerate(patterns) if p.entity.name in partly and phrases(p.pattern)][:MAX_COUNTED]
        if not wanted:
            return tuple(patterns)

        def counts(window: Window) -> dict[int, float]:
            each = (pattern_counted(patterns[i], str(i), labels, window.seconds) for i in wanted)
            form = {"query": " or ".join(each), "time": _last(window)}
            told = answers.counts_in(self.name, self._fetch.get("/loki/api/v1/query", form))
            return {int(held.get(MARK, "-1")): count for held, count in told}

        with Workers(max_workers=2) as pool:
            before, now = pool.map(counts, (scope.baseline, scope.window))
        return recounted(patterns, {i: (before.get(i, 0.0), now.get(i, 0.0)) for i in wanted})

    def _observed(self, scope: Scope, labels: Labels) -> Scope:
        """The scope with that part of its baseline in which lines came in; all of it where Loki does not tell."""
        return observed(scope, self._histories.get_or_call(f"{scope}", lambda: self._history(scope, labels)))

    def _history(self, scope: Scope, labels: Labels) -> History | None:
        def first(window: Window) -> float | None:
            form = {
                "query": f"{{{labels.any}}}",
                "start": _nanoseconds(window.start),
                "end": _nanoseconds(window.end),
                "limit": "1",
                "direction": "forward",
            }
            lines = answers.lines_in(self.name, self._fetch.get("/loki/api/v1/query_range", form), labels)
            return min((line.at for line in lines), default=None)

        try:
            within = first(scope.baseline)
            if within is not None and within - scope.baseline.start < _FROM_THE_START * scope.baseline.seconds:
                return History(scope.baseline.start)
            older = first(Window(scope.baseline.start - LOOK_BACK_S, scope.baseline.start))
            count = sum(self._totals(f"{{{labels.any}}}", scope.baseline, labels).values())
        except StatusError:
            return None
        return History(within if older is None else older, within, count)

    def _totals(self, said: str, window: Window, labels: Labels) -> dict[str, float]:
        """How many lines there are in a window, by component."""
        text = f"sum by ({labels.component}) (count_over_time({said} [{max(1, round(window.seconds))}s]))"
        answer = self._fetch.get("/loki/api/v1/query", {"query": text, "time": _last(window)})
        totals: dict[str, float] = {}
        for held, count in answers.counts_in(self.name, answer):
            source = labels.source(held)
            totals[source] = totals.get(source, 0.0) + count
        return totals

    def _lines(self, said: str, window: Window, most: int, labels: Labels) -> tuple[LogRecord, ...]:
        form = {
            "query": said,
            "start": _nanoseconds(window.start),
            "end": _nanoseconds(window.end),
            "limit": str(most),
            "direction": "backward",
        }
        return answers.lines_in(self.name, self._fetch.get("/loki/api/v1/query_range", form), labels)[:most]

    def _range(self, text: str, scope: Scope) -> object:
        # The first stretch begins where one of the view does; its count stands at its end.
        start = (scope.baseline.start // STRETCH_S + 1) * STRETCH_S
        if (scope.window.end - start) / STRETCH_S > _MOST_POINTS:
            raise SourceError(
                self.name, f"the time asked for has more than {_MOST_POINTS:,} stretches of {STRETCH_S:g} s; narrow it"
            )
        form = {"query": text, "start": _nanoseconds(start), "end": _nanoseconds(scope.window.end), "step": f"{STRETCH_S:g}s"}
        return self._fetch.get("/loki/api/v1/query_range", form)

    def _known(self, scope: Scope) -> Labels:
        """The labels as they were found last; those that Loki itself gives to streams where they never were."""
        return self._labels.get(scope.project) or Labels(level="detected_level", trace="trace_id")

    def _found(self, scope: Scope) -> Labels:
        known = self._labels.get(scope.project)
        if known is not None and known.names:  # a Loki that has just started fills up
            return known
        found = self._look(scope)
        self._labels.put(scope.project, found)
        return found

    def _look(self, scope: Scope) -> Labels:
        start = min(scope.baseline.start, scope.window.end - LOOK_BACK_S)
        span = {"start": _nanoseconds(start), "end": _nanoseconds(scope.window.end)}
        names = answers.names_in(self.name, self._fetch.get("/loki/api/v1/labels", span))
        held: dict[tuple[str, str], list[str]] = {}

        def values(name: str, selector: str) -> list[str]:
            if (name, selector) not in held:
                of = {"query": f"{{{selector}}}"} if selector else {}
                answer = self._fetch.get(f"/loki/api/v1/label/{quote(name)}/values", span | of)
                held[name, selector] = answers.names_in(self.name, answer)
            return held[name, selector]

        found = find_labels(names, values, frozenset(), scope.project, self.backend.profile)
        sample = {"query": f"{{{found.any}}}", "limit": str(SAMPLE_LINES), "direction": "backward", **span}
        answer = self._fetch.get("/loki/api/v1/query_range", sample)
        on_lines = answers.labels_on_lines(self.name, answer)
        labels = find_labels(names, values, on_lines, scope.project, self.backend.profile)
        return replace(labels, letters=any(map(begins_with_level, answers.texts_in(self.name, answer))))


def _by_source(lines: Sequence[LogRecord], totals: Mapping[str, float]) -> list[Lines]:
    """Lines by their component, each with how many there are in all."""
    held = {s: tuple(line for line in lines if line.source == s) for s in dict.fromkeys(line.source for line in lines)}
    return [Lines(of, round(totals.get(source, len(of)))) for source, of in held.items()]


def _last(window: Window) -> str:
    """The last moment of a window, up to which Loki counts: its ranges hold their end and not their start."""
    return str(round(window.end * 1e9) - 1)


def _nanoseconds(moment: float) -> str:
    return str(round(moment * 1e9))
