"""Candidates to arrays: what each query would read, the component it is bound to, and how the report speaks of both.

Each candidate belongs to a template and each template to a tool, the shape of P(tool) x P(template) x P(values).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from revelio.anomaly import SIGNIFICANT_SIGMA
from revelio.encoders.candidate_index import CandidateIndex, index_candidates
from revelio.encoders.evidence import FAMILIES, EvidenceIndex, components_matrix, index_evidence, neighbours, squash
from revelio.encoders.inferred_reads import Reads, resolve_reads
from revelio.encoders.mentions import Mentions
from revelio.encoders.null_distribution import AlignedNulls, NullDistributions
from revelio.encoders.recent import Recent
from revelio.encoders.report import Floats, TextEncoder
from revelio.encoders.words import template_words
from revelio.types import Evidence, Incident, Query, QueryTemplate

Ints = NDArray[np.int64]

RARITY = ("rarity", "rarity_overall")
"""How seldom its template, and any template, reads as far when something else is wrong."""
OWN = ("present", "worst", "mean", "rank", "gap", "best", "peers_out", *RARITY)
COMPONENT = (*FAMILIES, *(f"{f}_rank" for f in FAMILIES), "onset")
NEIGHBOURS = ("callee_latency", "callee_errors", "caller_latency", "caller_errors")
FOUND = ("run", "run_signal", "near_run", "near_signal")
"""Whether it was run and what came of it; the same for whatever was run about its component."""

TEXT = ("name_similarity", "name_similarity_rank", "mentioned", "template_similarity")
FEATURES = (*OWN, *COMPONENT, *(f"from_{c}" for c in COMPONENT), *NEIGHBOURS, *TEXT, "blanks", "bound", *FOUND)
"""Columns of a candidate's features. ``from_`` columns are those of an edge's caller."""

_COLUMN = {name: i for i, name in enumerate(FEATURES)}
_RARITY = [_COLUMN[name] for name in RARITY]


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
    ``undeclared`` are those that do not say what they read."""

    candidates: CandidateIndex
    undeclared: tuple[tuple[QueryTemplate, tuple[str, ...]], ...]
    expected: AlignedNulls
    tool_text: Floats
    template_text: Floats
    name_text: Floats
    mentions: Mentions


class QueryEncoder:
    """Encodes an incident with its candidates. ``tool_texts`` says what each tool is for, ``noise`` each metric's ripple,
    ``nulls`` what is usual for each template, ``reads`` what templates that do not say it were learnt to read.

    What depends on the candidates alone is remembered, because a system has the same ones for days, and what they show in
    some evidence too, because one incident is asked about in several ways.
    """

    def __init__(
        self,
        text: TextEncoder,
        tool_texts: Mapping[str, str],
        noise: Mapping[str, float],
        nulls: NullDistributions | None = None,
        reads: Reads | None = None,
    ) -> None:
        """``text`` should remember what it encoded: template texts and names come again with each incident."""
        self.text = text
        self.nulls = nulls or NullDistributions()
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
        candidates = prepared.candidates
        seen, components = self._seen(incident.evidence, prepared)
        features = seen.copy()
        _tell(features, prepared, incident.report, report)
        encoded = EncodedIncident(
            queries=queries,
            tools=candidates.tools,
            templates=candidates.templates,
            report=report,
            tool_text=prepared.tool_text,
            template_text=prepared.template_text,
            tool_of=candidates.tool_of,
            features=features,
            template_of=candidates.template_of,
            components=components,
            near=candidates.near,
        )
        if not incident.findings:
            return encoded
        index = {(q.template.id, q.bindings): i for i, q in enumerate(queries)}
        found = {i: f.signal for f in incident.findings if (i := index.get((f.template, f.bindings))) is not None}
        return replace(encoded, features=with_found(encoded, found))

    def _prepare(self, queries: tuple[Query, ...]) -> _Prepared:
        candidates = index_candidates(queries)
        return _Prepared(
            candidates,
            undeclared=candidates.undeclared(),
            expected=self.nulls.of([t.id for t in candidates.templates]),
            tool_text=self.text.encode([self.tool_texts.get(t, t) for t in candidates.tools]),
            template_text=self.text.encode([template_words(t) for t in candidates.templates]),
            name_text=self.text.encode(candidates.names),
            mentions=Mentions(candidates.names),
        )

    def _see(self, evidence: Evidence, prepared: _Prepared) -> tuple[Floats, Floats]:
        """The features that the evidence gives, ``[N, F]``, and the components' matrix."""
        candidates = prepared.candidates
        view = index_evidence(evidence, self.noise)
        components = components_matrix(view)
        features = _at_places(view, components, candidates)[candidates.place_of]
        features[:, _COLUMN["blanks"]] = candidates.blanks
        readings = candidates.readings
        if prepared.undeclared:
            there = [view.figures_of(names) for _, names in prepared.undeclared]
            readings = candidates.reading(resolve_reads([t for t, _ in prepared.undeclared], there, self.text, self.reads))
        distances, known = readings.distances(view)
        query, distances = readings.query[known], distances[known]
        worst = np.full(len(candidates.queries), -np.inf)
        np.maximum.at(worst, query, distances)
        count = np.bincount(query, minlength=len(worst))
        features[:, _COLUMN["mean"]] = squash(
            (np.bincount(query, distances, len(worst)) / np.maximum(1, count)).astype(np.float32)
        )
        _against_peers(features, candidates.template_of, worst, count > 0)
        features[:, _RARITY] = prepared.expected.rarity(candidates.template_of, features[:, _COLUMN["worst"]])
        return features, components


def _at_places(view: EvidenceIndex, components: Floats, candidates: CandidateIndex) -> Floats:
    """``[P, F]``: what the evidence knows of each place."""
    line = {n: i for i, n in enumerate(view.components)}
    # One more row for what is no component, so that -1 finds zeros.
    lines = np.append(components, np.zeros_like(components, shape=(1, len(COMPONENT))), axis=0)
    found = np.zeros((len(candidates.places), len(FEATURES)), dtype=np.float32)
    start, width = _COLUMN[COMPONENT[0]], len(COMPONENT)
    found[:, start : start + width] = lines[[line.get(n, -1) for n in candidates.here]]
    found[:, start + width : start + 2 * width] = lines[[line.get(n, -1) for n in candidates.caller]]
    start = _COLUMN[NEIGHBOURS[0]]
    found[:, start : start + len(NEIGHBOURS)] = neighbours(view, candidates.here)
    found[:, _COLUMN["bound"]] = candidates.places[:, 0] >= 0
    return found


def _tell(features: Floats, prepared: _Prepared, words: str, report: Floats) -> None:
    """Write into the features what the report says of templates and places."""
    candidates = prepared.candidates
    similarity = _best(prepared.name_text @ report, candidates.places)[candidates.place_of]
    features[:, _COLUMN["name_similarity"]] = similarity
    features[:, _COLUMN["name_similarity_rank"]] = _share_below(candidates.template_of, similarity)
    features[:, _COLUMN["mentioned"]] = _best(prepared.mentions.share(words), candidates.places)[candidates.place_of]
    features[:, _COLUMN["template_similarity"]] = (prepared.template_text @ report)[candidates.template_of]


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


def with_rarity(encoded: EncodedIncident, nulls: NullDistributions) -> EncodedIncident:
    """The incident as it looks against another background."""
    features = encoded.features.copy()
    expected = nulls.of([t.id for t in encoded.templates])
    features[:, _RARITY] = expected.rarity(encoded.template_of, encoded.feature("worst"))
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
