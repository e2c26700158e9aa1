"""Candidates to arrays: what each query would read, the component it is bound to, and how the report speaks of both.

Each candidate belongs to a template and each template to a tool, the shape of P(tool) x P(template) x P(values).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from revelio.anomaly import SIGNIFICANT_SIGMA
from revelio.encoders.background import Background, Expected
from revelio.encoders.evidence import FAMILIES, Glance, components_matrix, glance, neighbours, squash
from revelio.encoders.implied import Reads, reads_here
from revelio.encoders.lineup import Lineup, line_up
from revelio.encoders.mentions import Mentions
from revelio.encoders.recent import Recent
from revelio.encoders.report import Floats, TextEncoder
from revelio.encoders.words import template_words
from revelio.types import Evidence, Incident, Query, QueryTemplate

Ints = NDArray[np.int64]

SURPRISE = ("surprise", "surprise_among_all")
"""How seldom its template, and any template, reads as far when something else is wrong."""
OWN = ("present", "worst", "mean", "rank", "gap", "best", "peers_out", *SURPRISE)
COMPONENT = (*FAMILIES, *(f"{f}_rank" for f in FAMILIES), "onset")
NEIGHBOURS = ("callee_latency", "callee_errors", "caller_latency", "caller_errors")
FOUND = ("run", "run_signal", "near_run", "near_signal")
"""Whether it was run and what came of it; the same for whatever was run about its component."""

TEXT = ("name_similarity", "name_similarity_rank", "mentioned", "template_similarity")
FEATURES = (*OWN, *COMPONENT, *(f"from_{c}" for c in COMPONENT), *NEIGHBOURS, *TEXT, "blanks", "bound", *FOUND)
"""Columns of a candidate's features. ``from_`` columns are those of an edge's caller."""

_COLUMN = {name: i for i, name in enumerate(FEATURES)}
_SURPRISE = [_COLUMN[name] for name in SURPRISE]


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


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Candidates, and what is to be compared with a report: ``tool_text [K, D]``, ``template_text [T, D]``, and of the names
    that they are bound to their vectors ``name_text`` and ``mentions``; ``expected`` is what is usual for the templates, and
    ``unsaid`` are those that do not say what they read."""

    lineup: Lineup
    unsaid: tuple[tuple[QueryTemplate, tuple[str, ...]], ...]
    expected: Expected
    tool_text: Floats
    template_text: Floats
    name_text: Floats
    mentions: Mentions


class QueryEncoder:
    """Encodes an incident with its candidates. ``tool_texts`` says what each tool is for, ``noise`` each metric's ripple,
    ``background`` what is usual for each template, ``reads`` what templates that do not say it were learnt to read.

    What depends on the candidates alone is remembered, because a system has the same ones for days, and what they show in
    some evidence too, because one incident is asked about in several ways.
    """

    def __init__(
        self,
        text: TextEncoder,
        tool_texts: Mapping[str, str],
        noise: Mapping[str, float],
        background: Background | None = None,
        reads: Reads | None = None,
    ) -> None:
        """``text`` should remember what it encoded: template texts and names come again with each incident."""
        self.text = text
        self.background = background or Background()
        self.reads = reads or {}
        self.tool_texts = tool_texts
        self.noise = noise
        self._prepared = Recent(self._prepare)
        self._seen = Recent(self._see)

    def look(self, evidence: Evidence, queries: tuple[Query, ...]) -> None:
        """Work out, and remember, what needs no report: ``encode`` has less to do afterwards, and gives the same."""
        self._seen(evidence, self._prepared(queries))

    def encode(self, incident: Incident, queries: tuple[Query, ...], report: Floats) -> EncodedIncident:
        """``report`` is the report's vector. The order of ``queries`` does not matter to any figure."""
        prepared = self._prepared(queries)
        lineup = prepared.lineup
        seen, components = self._seen(incident.evidence, prepared)
        features = seen.copy()
        _tell(features, prepared, incident.report, report)
        encoded = EncodedIncident(
            queries=queries,
            tools=lineup.tools,
            templates=lineup.templates,
            report=report,
            tool_text=prepared.tool_text,
            template_text=prepared.template_text,
            tool_of=lineup.tool_of,
            features=features,
            template_of=lineup.template_of,
            components=components,
            near=lineup.near,
        )
        if not incident.findings:
            return encoded
        index = {(q.template.id, q.bindings): i for i, q in enumerate(queries)}
        found = {i: f.signal for f in incident.findings if (i := index.get((f.template, f.bindings))) is not None}
        return replace(encoded, features=with_found(encoded, found))

    def _prepare(self, queries: tuple[Query, ...]) -> _Prepared:
        lineup = line_up(queries)
        return _Prepared(
            lineup,
            unsaid=lineup.unsaid(),
            expected=self.background.of([t.id for t in lineup.templates]),
            tool_text=self.text.encode([self.tool_texts.get(t, t) for t in lineup.tools]),
            template_text=self.text.encode([template_words(t) for t in lineup.templates]),
            name_text=self.text.encode(lineup.names),
            mentions=Mentions(lineup.names),
        )

    def _see(self, evidence: Evidence, prepared: _Prepared) -> tuple[Floats, Floats]:
        """The features that the evidence gives, ``[N, F]``, and the components' matrix."""
        lineup = prepared.lineup
        view = glance(evidence, self.noise)
        components = components_matrix(view)
        features = _at_places(view, components, lineup)[lineup.place_of]
        features[:, _COLUMN["blanks"]] = lineup.blanks
        readings = lineup.readings
        if prepared.unsaid:
            there = [view.figures_of(names) for _, names in prepared.unsaid]
            readings = lineup.reading(reads_here([t for t, _ in prepared.unsaid], there, self.text, self.reads))
        distances, known = readings.distances(view)
        query, distances = readings.query[known], distances[known]
        worst = np.full(len(lineup.queries), -np.inf)
        np.maximum.at(worst, query, distances)
        count = np.bincount(query, minlength=len(worst))
        features[:, _COLUMN["mean"]] = squash(
            (np.bincount(query, distances, len(worst)) / np.maximum(1, count)).astype(np.float32)
        )
        _against_peers(features, lineup.template_of, worst, count > 0)
        features[:, _SURPRISE] = prepared.expected.surprise(lineup.template_of, features[:, _COLUMN["worst"]])
        return features, components


def _at_places(view: Glance, components: Floats, lineup: Lineup) -> Floats:
    """``[P, F]``: what the evidence knows of each place."""
    line = {n: i for i, n in enumerate(view.components)}
    # One more row for what is no component, so that -1 finds zeros.
    lines = np.append(components, np.zeros_like(components, shape=(1, len(COMPONENT))), axis=0)
    found = np.zeros((len(lineup.places), len(FEATURES)), dtype=np.float32)
    start, width = _COLUMN[COMPONENT[0]], len(COMPONENT)
    found[:, start : start + width] = lines[[line.get(n, -1) for n in lineup.here]]
    found[:, start + width : start + 2 * width] = lines[[line.get(n, -1) for n in lineup.caller]]
    start = _COLUMN[NEIGHBOURS[0]]
    found[:, start : start + len(NEIGHBOURS)] = neighbours(view, lineup.here)
    found[:, _COLUMN["bound"]] = lineup.places[:, 0] >= 0
    return found


def _tell(features: Floats, prepared: _Prepared, words: str, report: Floats) -> None:
    """Write into the features what the report says of templates and places."""
    lineup = prepared.lineup
    similarity = _best(prepared.name_text @ report, lineup.places)[lineup.place_of]
    features[:, _COLUMN["name_similarity"]] = similarity
    features[:, _COLUMN["name_similarity_rank"]] = _share_below(lineup.template_of, similarity)
    features[:, _COLUMN["mentioned"]] = _best(prepared.mentions.share(words), lineup.places)[lineup.place_of]
    features[:, _COLUMN["template_similarity"]] = (prepared.template_text @ report)[lineup.template_of]


def _best(values: Floats, places: Ints) -> Floats:
    """``[P]``: the largest of the values of each place's names; 0 for one without a name."""
    best = np.append(values, np.float32(-np.inf))[places].max(axis=1)
    return np.where(places[:, 0] >= 0, best, np.float32(0.0))


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


def with_surprise(encoded: EncodedIncident, background: Background) -> EncodedIncident:
    """The incident as it looks against another background."""
    features = encoded.features.copy()
    expected = background.of([t.id for t in encoded.templates])
    features[:, _SURPRISE] = expected.surprise(encoded.template_of, encoded.feature("worst"))
    return replace(encoded, features=features)


def _against_peers(features: Floats, template_of: Ints, worst: NDArray[np.float64], present: NDArray[np.bool_]) -> None:
    """Own readings squashed and ranked among the candidates of the same template."""
    seen = np.flatnonzero(present)
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
    out = worst[seen] >= SIGNIFICANT_SIGMA
    features[seen, _COLUMN["present"]] = 1.0
    features[seen, _COLUMN["worst"]] = values
    features[seen, _COLUMN["rank"]] = _share_below(group, values)
    features[seen, _COLUMN["gap"]] = values - np.where(values == top[group], runner_up[group], top[group])
    features[seen, _COLUMN["best"]] = (values == top[group]) & (worst[seen] > 1.0)
    features[seen, _COLUMN["peers_out"]] = (np.bincount(group, weights=out)[group] - out) / np.maximum(1, count - 1)


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
