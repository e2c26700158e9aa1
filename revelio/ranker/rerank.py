"""Re-ranks candidates with the results of queries, and finds which result changed the rank of a query most."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.query import EncodedIncident, with_found
from revelio.encoders.report import Floats
from revelio.ranker.scoring import Ranking, penalized
from revelio.ranker.session import Ranker
from revelio.support.anomaly import SIGNIFICANT
from revelio.types import Incident, Query

_WEIGHED = 8
"""The effect of so many results is measured one by one; each costs a pass of the network."""
_MIN_REST = 1e-6
"""Minimal total probability of the queries without an anomalous result."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """Two rankings of the same candidates: ``before`` any was run, and ``after``, whose probabilities add up to 1.

    ``log_left [N]`` is 0 for a query with an anomalous result. For any other it is the log-probability that no anomalous
    result shows the cause, a fourth factor beside the three of ``after``. ``weights [W, N]`` is how much each of the results
    ``weighed`` (indices of candidates) added to the log-probability of a query.
    """

    encoded: EncodedIncident
    before: Ranking
    after: Ranking
    log_left: Floats
    weighed: tuple[int, ...]
    weights: Floats

    @property
    def log_probability(self) -> Floats:
        """``[N]``, after: the sum of all four factors."""
        return np.asarray(self.after.log_probability + self.log_left)

    def order(self) -> list[int]:
        """Indices of the candidates, most probable after all results first; ties by template and bindings."""
        keys = zip(-self.log_probability, ((q.template.id, q.bindings) for q in self.after.queries), strict=True)
        return [i for i, _ in sorted(enumerate(keys), key=lambda pair: pair[1])]

    def mover(self, index: int, *, up: bool) -> int | None:
        """The candidate whose result moved this one most in that direction, else the first one that it overtook, else None."""
        if not self.weighed:
            return None
        pushes = self.weights[:, index] * (1 if up else -1)
        most = int(pushes.argmax())
        if pushes[most] > 0.01:
            return self.weighed[most]
        was, now = self.before.log_probability, self.log_probability
        overtaken = (i for i in self.weighed if up and was[i] > was[index] and now[i] < now[index])
        return next(overtaken, None)


def rerank(ranker: Ranker, incident: Incident, queries: tuple[Query, ...], found: Mapping[int, float]) -> Reranked:
    """Re-rank with the signals ``found`` of candidates, by index.

    The network is trained on queries that were run and did not show the cause, so that their tool may not show it either.
    That holds for a normal result. An anomalous result may be the cause: its query keeps the probability that it has without
    its own result, and the other queries share the rest as if no anomalous result showed the cause.
    """
    encoded = ranker.encode(replace(incident, findings=()), queries)
    unrun = ranker.logits(encoded)
    passes: dict[frozenset[int], Ranking] = {}

    def given(some: Mapping[int, float]) -> Ranking:
        known = frozenset(some)
        if known not in passes:
            passes[known] = ranker.rank(replace(encoded, features=with_found(encoded, some)) if some else encoded, unrun)
        return passes[known]

    significant = [i for i, signal in found.items() if signal >= SIGNIFICANT]
    normal = {i: signal for i, signal in found.items() if signal < SIGNIFICANT}
    before = given({})
    # A tool with an anomalous result is not penalised for its normal ones.
    suspects, everything = given(normal), penalized(given(found), encoded, found)
    rest = excluding(everything, encoded, significant)
    left = max(_MIN_REST, 1.0 - float(np.exp(suspects.log_probability[significant]).sum()))
    log_left = np.full(len(queries), np.log(left), dtype=np.float32)
    log_left[significant] = 0.0
    after = replace(
        rest,
        log_tool=_mixed(rest.log_tool, suspects.log_tool, significant),
        log_template=_mixed(rest.log_template, suspects.log_template, significant),
        log_value=_mixed(rest.log_value, suspects.log_value, significant),
        abstain=everything.abstain,
    )
    weighed = tuple(sorted(found, key=lambda i: -before.log_probability[i])[:_WEIGHED])
    others = [{j: s for j, s in found.items() if j != i} for i in weighed]
    weights = [everything.log_probability - penalized(given(fewer), encoded, fewer).log_probability for fewer in others]
    return Reranked(encoded, before, after, log_left, weighed, np.array(weights, dtype=np.float32))


def excluding(ranking: Ranking, encoded: EncodedIncident, gone: Collection[int]) -> Ranking:
    """The ranking given that none of the candidates ``gone`` shows the cause: their log-probability is minus infinity."""
    if not gone:
        return ranking
    chance = np.exp(ranking.log_probability.astype(np.float64))
    chance[list(gone)] = 0.0
    template, tool = encoded.template_of, encoded.tool_of[encoded.template_of]
    by_template, by_tool = np.bincount(template, chance)[template], np.bincount(tool, chance)[tool]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_tool, log_template = np.log(by_tool / chance.sum()), np.log(by_template / by_tool)
        log_value = np.log(chance / by_template)
    return replace(
        ranking,
        log_tool=_finite(log_tool),
        log_template=_finite(log_template),
        log_value=_finite(log_value),
    )


def _finite(values: NDArray[np.float64]) -> Floats:
    return np.nan_to_num(values, nan=-np.inf, neginf=-np.inf).astype(np.float32)


def _mixed(values: Floats, others: Floats, at: list[int]) -> Floats:
    mixed = values.copy()
    mixed[at] = others[at]
    return mixed
