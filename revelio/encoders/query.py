"""Candidates to arrays: what each query would read, the component it is bound to, and how the report speaks of both.

Each candidate belongs to a template and each template to a tool, the shape of P(tool) x P(template) x P(values).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from revelio.anomaly import PRESENT_DISTANCE
from revelio.encoders.evidence import FAMILIES, Glance, component, components_matrix, glance, squash
from revelio.encoders.report import Floats, TextEncoder
from revelio.types import Incident, Query, QueryTemplate

Ints = NDArray[np.int64]

OWN = ("present", "worst", "mean", "rank", "gap", "best", "peers_out")
COMPONENT = (*FAMILIES, *(f"{f}_rank" for f in FAMILIES), "onset")
NEIGHBOURS = ("callee_latency", "callee_errors", "caller_latency", "caller_errors")
FOUND = ("run", "run_signal", "near_run", "near_signal")
"""Whether it was run and what came of it; the same for whatever was run about its component."""

TEXT = ("name_similarity", "name_similarity_rank", "mentioned", "template_similarity")
FEATURES = (*OWN, *COMPONENT, *(f"from_{c}" for c in COMPONENT), *NEIGHBOURS, *TEXT, "blanks", "bound", *FOUND)
"""Columns of a candidate's features. ``from_`` columns are those of an edge's caller."""

_SILENT_WHEN_WELL = frozenset({"logs", "changes"})
"""Sources that hold nothing of a component that is well: a tool that answered and says nothing says that nothing happened."""

_COLUMN = {name: i for i, name in enumerate(FEATURES)}


@dataclass(frozen=True, slots=True)
class EncodedIncident:
    """One incident and its candidates as arrays.

    Shapes: ``report [D]``, ``tool_text [K, D]``, ``template_text [T, D]``, ``features [N, F]`` of the candidates,
    ``components [M, G]``; ``tool_of [T]`` and ``template_of [N]`` say what belongs to what, ``near [N]`` numbers the
    component that a candidate asks of.
    """

    queries: tuple[Query, ...]
    tools: tuple[str, ...]
    templates: tuple[QueryTemplate, ...]
    report: Floats
    tool_text: Floats
    template_text: Floats
    tool_of: Ints
    features: Floats
    template_of: Ints
    components: Floats
    near: Ints

    def feature(self, name: str) -> Floats:
        """One feature of all candidates, ``[N]``."""
        return np.asarray(self.features[:, _COLUMN[name]])


class QueryEncoder:
    """Encodes an incident with its candidates. ``tool_texts`` says what each tool is for, ``noise`` each metric's ripple."""

    def __init__(self, text: TextEncoder, tool_texts: Mapping[str, str], noise: Mapping[str, float]) -> None:
        """``text`` should remember what it encoded: template texts and names come again with each incident."""
        self.text = text
        self.tool_texts = tool_texts
        self.noise = noise

    def encode(self, incident: Incident, queries: tuple[Query, ...], report: Floats) -> EncodedIncident:
        """``report`` is the report's vector. The order of ``queries`` does not matter to any figure."""
        templates = tuple(dict.fromkeys(q.template for q in queries))
        tools = tuple(dict.fromkeys(t.tool for t in templates))
        row_of = {t.id: i for i, t in enumerate(templates)}
        template_of = np.array([row_of[q.template.id] for q in queries], dtype=np.int64)
        view = glance(incident.evidence, self.noise)
        template_text = self.text.encode([template_words(t) for t in templates])
        bound = [_bound(q) for q in queries]
        names = [component(at[0]) if at else "" for at in bound]
        near = np.unique(names, return_inverse=True)[1].astype(np.int64)
        encoded = EncodedIncident(
            queries=queries,
            tools=tools,
            templates=templates,
            report=report,
            tool_text=self.text.encode([self.tool_texts.get(t, t) for t in tools]),
            template_text=template_text,
            tool_of=np.array([tools.index(t.tool) for t in templates], dtype=np.int64),
            features=self._features(view, queries, bound, incident.report, report, template_text @ report, template_of),
            template_of=template_of,
            components=components_matrix(view)[1],
            near=near,
        )
        signals = {(f.template, f.bindings): f.signal for f in incident.findings}
        found = {i: s for i, q in enumerate(queries) if (s := signals.get((q.template.id, q.bindings))) is not None}
        return replace(encoded, features=with_found(encoded, found)) if found else encoded

    def _features(
        self,
        view: Glance,
        queries: tuple[Query, ...],
        bound: list[tuple[str, ...]],
        words: str,
        report: Floats,
        similarity: Floats,
        template_of: Ints,
    ) -> Floats:
        """``[N, F]``: the features of every candidate in the order given."""
        places = {at: i for i, at in enumerate(dict.fromkeys(bound))}
        flat = self._places(view, tuple(places), words, report)[[places[at] for at in bound]]
        flat[:, _COLUMN["template_similarity"]] = similarity[template_of]
        flat[:, _COLUMN["blanks"]] = [len(q.bindings) for q in queries]
        worst, mean = np.full(len(queries), np.nan), np.zeros(len(queries), dtype=np.float32)
        for i, (query, at) in enumerate(zip(queries, bound, strict=True)):
            readings = _readings(view, query, at)
            if readings:
                worst[i], mean[i] = max(readings), sum(readings) / len(readings)
        flat[:, _COLUMN["mean"]] = squash(mean)
        _against_peers(flat, template_of, worst)
        return flat

    def _places(self, view: Glance, places: tuple[tuple[str, ...], ...], words: str, report: Floats) -> Floats:
        """``[len(places), F]``: what all candidates that are bound to the same names share."""
        lines = dict(zip(*components_matrix(view), strict=True))
        names = sorted({n for at in places for n in at})
        vectors = dict(zip(names, self.text.encode(names) @ report, strict=True))
        told = _tokens(words)
        said = {n: _mentioned(n, told) for n in names}
        found = np.zeros((len(places), len(FEATURES)), dtype=np.float32)
        for line, at in zip(found, places, strict=True):
            if at:
                _place(line, view, lines, at)
                line[_COLUMN["name_similarity"]] = max(vectors[n] for n in at)
                line[_COLUMN["mentioned"]] = max(said[n] for n in at)
                line[_COLUMN["bound"]] = 1.0
        return found


def with_found(encoded: EncodedIncident, found: Mapping[int, float]) -> Floats:
    """The features ``[N, F]`` once candidates, by their index, were run and showed signals."""
    features = encoded.features.copy()
    run, signal, near_run, near_signal = (_COLUMN[name] for name in FOUND)
    for index, shown in found.items():
        features[index, [run, signal]] = 1.0, shown
        same = np.flatnonzero(encoded.near == encoded.near[index])
        features[same, near_run] = 1.0
        features[same, near_signal] = np.maximum(features[same, near_signal], shown)
    return features


@lru_cache(maxsize=10_000)
def template_words(template: QueryTemplate) -> str:
    """A template as a sentence for the text encoder, its holes named by their blanks."""
    return re.sub(r"\$\{(\w+)\}", r"the \1", f"{template.title}. {template.shows}".strip())


def _bound(query: Query) -> tuple[str, ...]:
    """Names to look up, most specific first: the edge, then the callee (or only entity), then the caller."""
    if len(query.bindings) < 2:
        return tuple(name for _, name in query.bindings)
    bindings = dict(query.bindings)
    if "service" in bindings and "peer" in bindings:
        return (f"{bindings['service']}->{bindings['peer']}", bindings["peer"], bindings["service"])
    return tuple(e.name for e in query.entities)


def _readings(view: Glance, query: Query, at: tuple[str, ...]) -> list[float]:
    """The distances of what the query would read; without an entity, the furthest of any component."""
    found = []
    for reading in query.template.reads:
        if at:
            value = next((v for n in at if (v := view.reading(n, reading)) is not None), None)
        else:
            here = (d for (_, s, m), d in view.figures.items() if s == reading.source and m == reading.metric)
            value = max((d.toward(reading.direction) for d in here), default=None)
        if value is None and reading.source in _SILENT_WHEN_WELL and query.template.tool not in view.missing:
            value = 0.0
        if value is not None:
            found.append(value)
    return found


def _place(line: Floats, view: Glance, lines: dict[str, Floats], at: tuple[str, ...]) -> None:
    start, width = _COLUMN[COMPONENT[0]], len(COMPONENT)
    here = component(at[0])
    if here in lines:
        line[start : start + width] = lines[here]
    if len(at) > 1 and at[-1] in lines:
        line[start + width : start + 2 * width] = lines[at[-1]]
    start = _COLUMN[NEIGHBOURS[0]]
    latency, errors = FAMILIES.index("latency"), FAMILIES.index("errors")
    for offset, names in ((0, view.callees.get(here, ())), (2, view.callers.get(here, ()))):
        near = [lines[n] for n in names if n in lines]
        if near:
            line[start + offset] = max(x[latency] for x in near)
            line[start + offset + 1] = max(x[errors] for x in near)


def _against_peers(flat: Floats, template_of: Ints, worst: NDArray[np.float64]) -> None:
    """Own readings squashed and ranked among the candidates of the same template."""
    flat[:, _COLUMN["name_similarity_rank"]] = _share_below(template_of, flat[:, _COLUMN["name_similarity"]])
    seen = np.flatnonzero(np.isfinite(worst))
    if not len(seen):
        return
    group, values = template_of[seen], squash(worst[seen].astype(np.float32))
    order = np.lexsort((values, group))
    last = np.flatnonzero(np.append(np.diff(group[order]) > 0, True))
    first = np.append(0, last[:-1] + 1)
    top, runner_up = np.zeros(int(group.max()) + 1, dtype=np.float32), np.zeros(int(group.max()) + 1, dtype=np.float32)
    top[group[order[last]]] = values[order[last]]
    runner_up[group[order[last]]] = values[order[np.maximum(last - 1, first)]]
    count = np.bincount(group)[group]
    out = worst[seen] >= PRESENT_DISTANCE
    flat[seen, _COLUMN["present"]] = 1.0
    flat[seen, _COLUMN["worst"]] = values
    flat[seen, _COLUMN["rank"]] = _share_below(group, values)
    flat[seen, _COLUMN["gap"]] = values - np.where(values == top[group], runner_up[group], top[group])
    flat[seen, _COLUMN["best"]] = (values == top[group]) & (worst[seen] > 1.0)
    flat[seen, _COLUMN["peers_out"]] = (np.bincount(group, weights=out)[group] - out) / np.maximum(1, count - 1)


def _share_below(group: Ints, values: Floats) -> Floats:
    """For each value, the share of the others of its group that lie strictly below; 0 where it is alone."""
    order = np.lexsort((values, group))
    sorted_group, sorted_values = group[order], values[order]
    new_group = np.append(True, np.diff(sorted_group) > 0)
    new_value = new_group | np.append(True, np.diff(sorted_values) > 0)
    position = np.arange(len(order))
    group_start = np.maximum.accumulate(np.where(new_group, position, 0))
    value_start = np.maximum.accumulate(np.where(new_value, position, 0))
    others = np.bincount(group)[sorted_group] - 1
    share = np.zeros(len(order), dtype=np.float32)
    share[order] = (value_start - group_start) / np.maximum(1, others)
    return share


def _tokens(text: str) -> set[str]:
    words = re.findall(r"[a-z0-9]+", text.lower())
    return set(words) | {w[:-1] for w in words if w.endswith("s")}


def _mentioned(name: str, told: set[str]) -> float:
    """Share of the name's own words that the report says, plural or not."""
    parts = _parts(name)
    return sum(p in told or p.rstrip("s") in told for p in parts) / len(parts) if parts else 0.0


@lru_cache(maxsize=10_000)
def _parts(name: str) -> tuple[str, ...]:
    """The words of a name, camel case taken apart, too short ones left out."""
    return tuple(p for p in re.findall(r"[a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()) if len(p) > 2)
