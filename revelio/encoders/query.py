"""Candidates to arrays: what each query reads, its component, and how well both match the report.

Each candidate belongs to a template and each template to a tool, the shape of P(tool) x P(template) x P(values).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.candidate_index import CandidateIndex, index_candidates
from revelio.encoders.complaint import COMPLAINT, Names, complaint, of_targets, read_names, spoken
from revelio.encoders.evidence import FAMILIES, EvidenceIndex, components_matrix, index_evidence, neighbours, squash
from revelio.encoders.group_ranks import share_below
from revelio.encoders.identity_cache import cached_by_identity
from revelio.encoders.inferred_reads import Reads, resolve_reads
from revelio.encoders.items import items
from revelio.encoders.matches import MATCHES, MATCHES_OF_REPORT, Matched, TemplateWords, match, matches, read_templates
from revelio.encoders.mentions import Mentions
from revelio.encoders.null_distribution import AlignedNulls, NullDistributions
from revelio.encoders.report import CachingEncoder, Floats, TextEncoder
from revelio.encoders.static_words import WordEncoder
from revelio.encoders.words import template_words
from revelio.support.anomaly import SIGNIFICANT_SIGMA
from revelio.types import Evidence, Incident, Query, QueryTemplate

Ints = NDArray[np.int64]

RARITY = ("rarity", "rarity_overall")
"""How rarely its template, and any template, deviates as much in incidents with another cause."""
OWN = ("present", "worst", "mean", "rank", "gap", "best", "peers_out", *RARITY)
COMPONENT = (*FAMILIES, *(f"{f}_rank" for f in FAMILIES), "onset")
NEIGHBOURS = ("callee_latency", "callee_errors", "caller_latency", "caller_errors")
FOUND = ("run", "run_signal", "near_run", "near_signal")
"""Whether the candidate was run, and the signal of its result; the same for any query of its component."""

TEXT = ("name_similarity", "name_similarity_rank", "mentioned", "template_similarity")
FEATURES = (
    *(*OWN, *COMPONENT, *(f"from_{c}" for c in COMPONENT), *NEIGHBOURS, *TEXT, "blanks", "bound", *COMPLAINT),
    *(*MATCHES, *FOUND),
)
"""The feature columns of a candidate. ``from_`` columns are those of the caller of an edge."""

_COLUMN = {name: i for i, name in enumerate(FEATURES)}
_RARITY = [_COLUMN[name] for name in RARITY]
OF_REPORT = (*TEXT, *COMPLAINT, *MATCHES_OF_REPORT)
"""Features that compare with the report; 0 without one."""
_COMPLAINT = slice(_COLUMN[COMPLAINT[0]], _COLUMN[COMPLAINT[0]] + len(COMPLAINT))
_MATCHES = slice(_COLUMN[MATCHES[0]], _COLUMN[MATCHES[0]] + len(MATCHES))


@dataclass(frozen=True, slots=True)
class EncodedIncident:
    """One incident and its candidates as arrays.

    Shapes: ``report [D]``, ``tool_text [K, D]``, ``template_text [T, D]``, ``features [N, F]`` of the candidates,
    ``components [M, G]``; ``tool_of [T]`` is the tool of each template, ``template_of [N]`` the template of each candidate,
    ``near [N]`` a number for the component of each candidate. ``retrieved [N]`` are the scores of imported questions that only
    the report speaks for, NaN for other candidates; None where there are none.
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
    retrieved: Floats | None = None

    def feature(self, name: str) -> Floats:
        """One feature of all candidates, ``[N]``."""
        return np.asarray(self.features[:, _COLUMN[name]])


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What depends on the candidates alone: the vectors of tools, templates and bound names (``tool_text [K, D]``,
    ``template_text [T, D]``, ``name_text``), the ``mentions`` of these names, the ``nulls`` of the templates, and the templates
    with ``undeclared`` reads; with static words also what these are ``asked`` in their vectors."""

    candidates: CandidateIndex
    undeclared: tuple[tuple[QueryTemplate, tuple[str, ...]], ...]
    nulls: AlignedNulls
    tool_text: Floats
    template_text: Floats
    name_text: Floats
    mentions: Mentions
    asked: TemplateWords | None


@dataclass(frozen=True, slots=True)
class _Story:
    """What a report is compared with: the evidence, the names in it, and its items matched with candidates."""

    view: EvidenceIndex
    names: Names
    matched: Matched


class QueryEncoder:
    """Encodes an incident with its candidates.

    ``tool_texts`` describes each tool, ``noise`` is the noise floor of each metric, ``nulls`` the null distributions of the
    templates, ``reads`` the learned reads of templates that declare none. Two parts are cached: what depends on the candidates
    alone, because a system keeps them for days, and what depends on candidates and evidence, because an incident is ranked
    several times.
    """

    def __init__(
        self,
        text: TextEncoder,
        tool_texts: Mapping[str, str],
        noise: Mapping[str, float],
        nulls: NullDistributions | None = None,
        reads: Reads | None = None,
        words: WordEncoder | None = None,
    ) -> None:
        """``text`` should cache: template texts and names recur with each incident. Without ``words`` the features that compare
        words one by one are 0."""
        self.text = text
        self.nulls = nulls or NullDistributions()
        self.reads = reads or {}
        self.tool_texts = tool_texts
        self.noise = noise
        self.words = words
        self._static = CachingEncoder(words) if words else None
        self._names = lru_cache(maxsize=8)(self._read_names)
        self._candidate_part = cached_by_identity(self._prepare)
        self._evidence_part = cached_by_identity(self._evidence_features)

    def prepare(self, evidence: Evidence, queries: tuple[Query, ...]) -> None:
        """Compute and cache what needs no report, so that a later ``encode`` is faster."""
        self._evidence_part(evidence, self._candidate_part(queries))

    def encode(self, incident: Incident, queries: tuple[Query, ...], report: Floats) -> EncodedIncident:
        """``report`` is the vector of the report. No feature depends on the order of ``queries``."""
        prepared = self._candidate_part(queries)
        candidates = prepared.candidates
        seen, components, story = self._evidence_part(incident.evidence, prepared)
        features = seen.copy()
        _add_text_features(features, prepared, incident.report, report)
        if story is not None and self.words is not None and self._static is not None:
            said = spoken(self.words.words([incident.report]))
            about = of_targets(complaint(story.view, story.names, said, report), story.view, candidates.here, candidates.caller)
            features[:, _COMPLAINT] = about[candidates.target_of]
            similar = features[:, _COLUMN["template_similarity"]]
            vector = self._static.encode([incident.report])[0]
            features[:, _MATCHES] = matches(story.matched, candidates, similar, incident.report, vector)
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
            nulls=self.nulls.of([t.id for t in candidates.templates]),
            tool_text=self.text.encode([self.tool_texts.get(t, t) for t in candidates.tools]),
            template_text=self.text.encode([template_words(t) for t in candidates.templates]),
            name_text=self.text.encode(candidates.names),
            mentions=Mentions(candidates.names),
            asked=read_templates(candidates.templates, self._static) if self._static else None,
        )

    def _read_names(self, components: tuple[str, ...], operations: tuple[str, ...]) -> Names:
        assert self.words is not None
        return read_names(components, operations, self.words, self.text)

    def _evidence_features(self, evidence: Evidence, prepared: _Prepared) -> tuple[Floats, Floats, _Story | None]:
        """The features that need no report, ``[N, F]``, the matrix of components, and what a report is compared with."""
        candidates = prepared.candidates
        view = index_evidence(evidence, self.noise)
        components = components_matrix(view)
        features = _target_features(view, components, candidates)[candidates.target_of]
        features[:, _COLUMN["blanks"]] = candidates.blanks
        readings = candidates.readings
        if prepared.undeclared:
            there = [view.figures_of(names) for _, names in prepared.undeclared]
            readings = candidates.reading(resolve_reads([t for t, _ in prepared.undeclared], there, self.text, self.reads))
        deviations, known = readings.deviations(view)
        query, deviations = readings.query[known], deviations[known]
        worst = np.full(len(candidates.queries), -np.inf)
        np.maximum.at(worst, query, deviations)
        count = np.bincount(query, minlength=len(worst))
        features[:, _COLUMN["mean"]] = squash(
            (np.bincount(query, deviations, len(worst)) / np.maximum(1, count)).astype(np.float32)
        )
        _against_peers(features, candidates.template_of, worst, count > 0)
        features[:, _RARITY] = prepared.nulls.rarity(candidates.template_of, features[:, _COLUMN["worst"]])
        story = None
        if self.words is not None and self._static is not None and prepared.asked is not None:
            found = items(evidence, self.noise)
            read = {name: features[:, _COLUMN[name]] for name in ("worst", "mean", "present")}
            matched = match(found, candidates, prepared.asked, view.edges, self._static, read)
            operations = tuple(e.name for e in evidence.entities if e.kind == "operation")
            story = _Story(view, self._names(view.components, operations), matched)
        return features, components, story


def _target_features(view: EvidenceIndex, components: Floats, candidates: CandidateIndex) -> Floats:
    """``[P, F]``: the features that the evidence gives of each target."""
    line = {n: i for i, n in enumerate(view.components)}
    # One more row of zeros, which index -1 finds: no component.
    lines = np.append(components, np.zeros_like(components, shape=(1, len(COMPONENT))), axis=0)
    found = np.zeros((len(candidates.targets), len(FEATURES)), dtype=np.float32)
    start, width = _COLUMN[COMPONENT[0]], len(COMPONENT)
    found[:, start : start + width] = lines[[line.get(n, -1) for n in candidates.here]]
    found[:, start + width : start + 2 * width] = lines[[line.get(n, -1) for n in candidates.caller]]
    start = _COLUMN[NEIGHBOURS[0]]
    found[:, start : start + len(NEIGHBOURS)] = neighbours(view, candidates.here)
    found[:, _COLUMN["bound"]] = candidates.targets[:, 0] >= 0
    return found


def _add_text_features(features: Floats, prepared: _Prepared, words: str, report: Floats) -> None:
    """Write how well the report matches templates and targets into the features."""
    candidates = prepared.candidates
    similarity = _best(prepared.name_text @ report, candidates.targets)[candidates.target_of]
    features[:, _COLUMN["name_similarity"]] = similarity
    features[:, _COLUMN["name_similarity_rank"]] = share_below(candidates.template_of, similarity)
    features[:, _COLUMN["mentioned"]] = _best(prepared.mentions.share(words), candidates.targets)[candidates.target_of]
    features[:, _COLUMN["template_similarity"]] = (prepared.template_text @ report)[candidates.template_of]


def _best(values: Floats, targets: Ints) -> Floats:
    """``[P]``: the largest value among the names of each target; 0 without a name."""
    best = np.append(values, np.float32(-np.inf))[targets].max(axis=1)
    return np.where(targets[:, 0] >= 0, best, np.float32(0.0))


def with_found(encoded: EncodedIncident, found: Mapping[int, float]) -> Floats:
    """The features ``[N, F]`` after candidates, by index, were run with these signals."""
    features = encoded.features.copy()
    run, signal, near_run, near_signal = (_COLUMN[name] for name in FOUND)
    for index, shown in found.items():
        features[index, [run, signal]] = 1.0, shown
        same = np.flatnonzero(encoded.near == encoded.near[index])
        features[same, near_run] = 1.0
        features[same, near_signal] = np.maximum(features[same, near_signal], shown)
    return features


def with_rarity(encoded: EncodedIncident, nulls: NullDistributions) -> EncodedIncident:
    """The incident with its rarity features computed from other null distributions."""
    features = encoded.features.copy()
    expected = nulls.of([t.id for t in encoded.templates])
    features[:, _RARITY] = expected.rarity(encoded.template_of, encoded.feature("worst"))
    return replace(encoded, features=features)


def _against_peers(features: Floats, template_of: Ints, worst: NDArray[np.float64], present: NDArray[np.bool_]) -> None:
    """Squash the readings, and rank them among the candidates of the same template."""
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
    anomalous = worst[seen] >= SIGNIFICANT_SIGMA
    features[seen, _COLUMN["present"]] = 1.0
    features[seen, _COLUMN["worst"]] = values
    features[seen, _COLUMN["rank"]] = share_below(group, values)
    features[seen, _COLUMN["gap"]] = values - np.where(values == top[group], runner_up[group], top[group])
    features[seen, _COLUMN["best"]] = (values == top[group]) & (worst[seen] > 1.0)
    features[seen, _COLUMN["peers_out"]] = (np.bincount(group, weights=anomalous)[group] - anomalous) / np.maximum(1, count - 1)
