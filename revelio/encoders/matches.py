"""How well the items of the evidence match each candidate, by words and by place: features without a name or a declared read.

Items belong to a candidate in four ways: they are at its target itself, at its component, at what that component calls, or at
what calls it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from revelio.encoders.candidate_index import CandidateIndex
from revelio.encoders.evidence import Ints, component, squash
from revelio.encoders.group_ranks import share_below
from revelio.encoders.items import NUMBERS, Items
from revelio.encoders.report import Floats, TextEncoder
from revelio.encoders.words import callable_words, plain_words
from revelio.support.anomaly import SIGNIFICANT_SIGMA
from revelio.types import QueryTemplate

TIES = ("target", "component", "callees", "callers")
_SEEN = ("deviation", "about_report", "new_log", "problem", "change", "early")
"""The largest value among the tied items: deviation, likeness to the report, ..."""
_SHARE = ("anomalous", "mass", "new_logs")
"""The share of all items that is tied: of those that are anomalous, of squared deviations, of new log patterns."""
_PLACES = tuple(f"{tie}_{name}" for tie in TIES for name in (*_SEEN, *_SHARE))
_RANKED = ("component_deviation", "component_anomalous", "component_mass")
_WORDS = tuple(f"words_{tie}{of}" for tie in TIES for of in ("", "_anomalous"))
_WORDS_RANKED = tuple(
    f"words_{tie}_{how}" for tie in TIES[:2] for how in ("rank_of_template", "rank_of_target", "rank", "of_largest")
)
_READ = ("read_rank", "read_of_largest", "read_rank_of_target", "mean_rank_of_template", "largest_read_of_template")
_SAME = ("read_of_callees", "read_of_callers", "above_callees", "above_callers", "read_above_callees")
_TEXT = (
    "named",
    "template_rank",
    "below_best_template",
    "words_report",
    "words_report_rank",
    "no_report",
    "targets",
    "templates",
)
MATCHES = (
    *_PLACES,
    *(f"{name}{how}" for name in _RANKED for how in ("_rank", "_of_largest")),
    *_WORDS,
    *_WORDS_RANKED,
    *_READ,
    *_SAME,
    *_TEXT,
)
"""The columns of ``matches``."""
MATCHES_OF_REPORT = (
    *(name for name in MATCHES if name.endswith("_about_report")),
    *("named", "template_rank", "below_best_template", "words_report", "words_report_rank"),
)
"""Those that compare with the report."""
_ABOUT = [i for i, name in enumerate(MATCHES) if name.endswith("_about_report")]
_COLUMN = {name: i for i, name in enumerate(NUMBERS)}
_LARGEST_READING = 2.0
"""Squashed readings are clipped to this where they are compared: beyond, a larger one says nothing."""
_BODY = 300
"""Characters of a template's query that count as its words."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The places of items and targets as numbers, and who calls whom.

    ``own [I]``, ``place [I]`` and ``caller [I]`` number the entity, the component and, for an edge, the calling component of
    each item, ``C`` for none. Of targets ``[P]``: ``target_own``, ``target_place`` and ``target_caller`` likewise.
    ``calls [E, 2]`` are pairs of components. ``sizes`` are the numbers of entities and of components.
    """

    own: Ints
    place: Ints
    caller: Ints
    target_own: Ints
    target_place: Ints
    target_caller: Ints
    calls: Ints
    sizes: tuple[int, int]

    def largest(self, values: Floats) -> Floats:
        """``[4, V, P]``: the largest of ``values [V, I]`` (at least 0) among the items tied to each target in each way."""
        return self._pooled(values, np.maximum)

    def total(self, values: Floats) -> Floats:
        """``[4, V, P]``: their sums."""
        return self._pooled(values, np.add)

    def _pooled(self, values: Floats, pool: np.ufunc) -> Floats:
        own = self._grouped(values, self.own, self.sizes[0], pool)
        here = self._grouped(values, self.place, self.sizes[1], pool)
        callees = self._grouped(values, self.caller, self.sizes[1], pool)
        callers = np.zeros_like(here)
        if len(self.calls):
            a, b = self.calls.T
            _pool(callees, a, here[b], pool)
            _pool(callers, b, here[a], pool)
        by_edge = self.target_caller < self.sizes[1]
        above = np.where(by_edge[:, None], here[self.target_caller], callers[self.target_place])
        return np.stack([own[self.target_own], here[self.target_place], callees[self.target_place], above]).transpose(0, 2, 1)

    def _grouped(self, values: Floats, group: Ints, size: int, pool: np.ufunc) -> Floats:
        """``[size + 2, V]``; the last but one row has no item, the last has all of them."""
        found = np.zeros((size + 2, len(values)), dtype=np.float32)
        if values.shape[1]:
            _pool(found, group, values.T, pool)
            found[size] = 0.0
            found[size + 1] = pool.reduce(values, axis=1)
        return found


def _pool(into: Floats, group: Ints, values: Floats, pool: np.ufunc) -> None:
    """``pool.at(into, group, values)`` of rows, many times as fast."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    start = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    there = ordered[start]
    into[there] = pool(into[there], pool.reduceat(values[order], start, axis=0))


def graph(items: Items, candidates: CandidateIndex, edges: Sequence[tuple[str, str]]) -> Graph:
    """Number the places of items and of the candidates' targets."""
    targets = [tuple(candidates.names[i] for i in row if i >= 0) for row in candidates.targets.tolist()]
    entities = {n: i for i, n in enumerate(dict.fromkeys(items.entity))}
    components = {n: i for i, n in enumerate(dict.fromkeys([component(n) for n in items.entity] + [x for e in edges for x in e]))}
    none, size = len(entities), len(components)
    calls = [(components[a], components[b]) for a, b in edges if a != b]
    return Graph(
        own=_ints(entities[n] for n in items.entity),
        place=_ints(components[component(n)] for n in items.entity),
        caller=_ints(components.get(n.split("->", 1)[0], size) if "->" in n else size for n in items.entity),
        target_own=_ints(entities.get(t[0], none) if t else none + 1 for t in targets),
        target_place=_ints(components.get(component(t[0]), size) if t else size + 1 for t in targets),
        target_caller=_ints(components.get(t[-1], size) if len(t) > 1 else size for t in targets),
        calls=np.array(calls, dtype=np.int64).reshape(-1, 2),
        sizes=(none, size),
    )


@dataclass(frozen=True, slots=True)
class Matched:
    """What items and candidates have in common, whatever the report.

    ``columns [N, len(MATCHES)]`` lack what depends on the report. ``item_words [I, S]`` are scaled by deviation.
    """

    columns: Floats
    item_words: Floats
    asked: TemplateWords
    graph: Graph


@dataclass(frozen=True, slots=True)
class TemplateWords:
    """Of each template its static vector ``[T, S]``, and the words of its title."""

    vectors: Floats
    titles: tuple[frozenset[str], ...]


def read_templates(templates: Sequence[QueryTemplate], text: TextEncoder) -> TemplateWords:
    """``text`` has static vectors."""
    asked = text.encode([f"{callable_words(t)} {t.body[:_BODY]}" for t in templates])
    return TemplateWords(asked, tuple(plain_words(t.title) for t in templates))


def match(
    items: Items,
    candidates: CandidateIndex,
    asked: TemplateWords,
    edges: Sequence[tuple[str, str]],
    text: TextEncoder,
    readings: Mapping[str, Floats],
) -> Matched:
    """Match items with candidates. ``text`` should cache; ``readings`` has ``worst``, ``mean`` and ``present`` of the
    candidates."""
    tied = graph(items, candidates, edges)
    numbers = items.numbers
    deviation = np.maximum(numbers[:, _COLUMN["up"]], numbers[:, _COLUMN["down"]])
    out = (deviation >= squash(np.array([SIGNIFICANT_SIGMA], dtype=np.float32))[0]).astype(np.float32)
    new = numbers[:, _COLUMN["new"]] * numbers[:, _COLUMN["logs"]]
    problem, change = numbers[:, _COLUMN["problem"]] * deviation, numbers[:, _COLUMN["changes"]]
    early = (1.0 - numbers[:, _COLUMN["onset"]]) * out
    shares = np.stack([out, deviation**2, new])
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-6)
    said = text.encode(items.words)
    alike = np.clip(asked.vectors @ said.T, 0.0, 1.0) ** 2
    seen = tied.largest(np.stack([deviation, np.zeros_like(deviation), new * deviation, problem, change, early]))
    places = np.concatenate([seen, tied.total(shares)], axis=1).reshape(len(_PLACES), -1)
    words = tied.largest(np.concatenate([alike * deviation, alike * out])).reshape(len(TIES), 2, len(candidates.templates), -1)
    columns = [*_of_places(places, candidates), *_of_words(words, candidates), *_of_readings(readings, candidates, tied)]
    columns += [np.zeros(len(candidates.queries), dtype=np.float32)] * len(_TEXT)
    return Matched(np.stack(columns, axis=1).astype(np.float32), said * deviation[:, None], asked, tied)


def _of_places(places: Floats, candidates: CandidateIndex) -> list[Floats]:
    target, each = candidates.target_of, np.zeros(len(candidates.targets), dtype=np.int64)
    columns: list[Floats] = list(places[:, target])
    for name in _RANKED:
        values = places[_PLACES.index(name)]
        columns += [share_below(each, values)[target], _of_largest(values)[target]]
    return columns


def _of_words(words: Floats, candidates: CandidateIndex) -> list[Floats]:
    template, target = candidates.template_of, candidates.target_of
    words = words[:, :, template, target]  # [4, 2, N]
    columns: list[Floats] = list(words.reshape(-1, len(template)))
    for values in words[:2, 0]:
        columns += [share_below(g, values) for g in (template, target, np.zeros_like(template))] + [_of_largest(values)]
    return columns


def _of_readings(readings: Mapping[str, Floats], candidates: CandidateIndex, tied: Graph) -> list[Floats]:
    template, target, worst = candidates.template_of, candidates.target_of, readings["worst"]
    largest = np.full(len(candidates.templates), -np.inf, dtype=np.float32)
    np.maximum.at(largest, template, worst)
    columns = [share_below(np.zeros_like(template), worst), _of_largest(worst), share_below(target, worst)]
    columns += [share_below(template, readings["mean"]), largest[template]]
    return columns + list(_same_elsewhere(tied, candidates, worst, readings["present"] > 0))


def matches(found: Matched, candidates: CandidateIndex, similar: Floats, said: str, report: Floats) -> Floats:
    """``[N, len(MATCHES)]``. ``similar [N]`` is how much the templates are like the report; ``report`` is the static vector of
    what was ``said``."""
    template = candidates.template_of
    everything = np.zeros_like(template)
    columns = found.columns.copy()
    about = found.graph.largest(np.clip(found.item_words @ report, 0.0, None)[None])
    columns[:, _ABOUT] = about[:, 0, candidates.target_of].T
    like = (found.asked.vectors @ report)[template]
    told = [_named(found.asked.titles, said)[template], share_below(everything, similar), similar - similar.max()]
    told += [like, share_below(everything, like)]
    told += [np.full(len(template), float(not said.strip())), np.log1p(np.bincount(template)[template])]
    told += [np.full(len(template), np.log(len(candidates.templates)))]
    columns[:, -len(_TEXT) :] = np.stack(told, axis=1)
    return columns


def _same_elsewhere(tied: Graph, candidates: CandidateIndex, worst: Floats, present: np.ndarray) -> Floats:
    """``[5, N]``: the largest reading of the same template at callees and at callers (-1 for none), by how much the candidate's
    own is above them (0 for none), and by how much it is above the callees' where none counts as calm."""
    template, target = candidates.template_of, candidates.target_of
    size = tied.sizes[1] + 2
    place = tied.target_place[target]
    at = np.full((size, len(candidates.templates)), -1.0, dtype=np.float32)
    np.maximum.at(at, (place[present], template[present]), worst[present])
    below, above = np.full_like(at, -1.0), np.full_like(at, -1.0)
    if len(tied.calls):
        a, b = tied.calls.T
        _pool(below, a, at[b], np.maximum)
        _pool(above, b, at[a], np.maximum)
    callees, callers = below[place, template], above[place, template]
    own = np.where(present, worst, 0.0)
    above_callees, above_callers = (own - callees) * (callees > -1.0), (own - callers) * (callers > -1.0)
    rule = np.clip(own, 0.0, _LARGEST_READING) - np.clip(callees, 0.0, _LARGEST_READING)
    return np.stack([callees, callers, above_callees, above_callers, rule])


def _named(words: Sequence[frozenset[str]], report: str) -> Floats:
    """``[T]``: 1 for the templates whose titles share most words with the report, rare words counting more; else 0."""
    said = plain_words(report)
    often = Counter(w for title in words for w in title)
    shared = np.array([sum(np.log1p(len(words) / often[w]) for w in said & title) for title in words], dtype=np.float32)
    return np.asarray((shared >= max(1e-6, float(shared.max(initial=0.0)))).astype(np.float32))


def _of_largest(values: Floats) -> Floats:
    return np.asarray(values / max(1e-6, float(values.max(initial=0.0))), dtype=np.float32)


def _ints(values: object) -> Ints:
    return np.fromiter(values, np.int64)  # type: ignore[call-overload, no-any-return]
