"""A ranking once some of its queries were run: what their results say of all, and which of them moved a query most."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from revelio.anomaly import SIGNIFICANT
from revelio.encoders.query import EncodedIncident, with_found
from revelio.encoders.report import Floats
from revelio.ranker.scoring import Ranking, penalized
from revelio.ranker.session import Ranker
from revelio.types import Incident, Query

_WEIGHED = 8
"""So many results are weighed one by one, each for a pass of the network; more than that nobody reads about."""
_CERTAIN = 1e-6
"""What is left at least for the rest, however sure the model is of what stands out."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """Two rankings of the same candidates: ``before`` any was run, and ``after``, whose probabilities add up to 1.

    ``log_left [N]`` is 0 for a query whose result stands out; for any other the logarithm of the probability that none of
    those shows the cause, which is a factor of its own beside the three of ``after``. ``weights [W, N]`` is how much each
    of the results ``weighed`` (indices of candidates) added to a query's log-probability.
    """

    encoded: EncodedIncident
    before: Ranking
    after: Ranking
    log_left: Floats
    weighed: tuple[int, ...]
    weights: Floats

    @property
    def log_probability(self) -> Floats:
        """``[N]``, after: all four factors."""
        return np.asarray(self.after.log_probability + self.log_left)

    def order(self) -> list[int]:
        """Indices of the candidates, most probable after all results first; ties by template and bindings."""
        keys = zip(-self.log_probability, ((q.template.id, q.bindings) for q in self.after.queries), strict=True)
        return [i for i, _ in sorted(enumerate(keys), key=lambda pair: pair[1])]

    def mover(self, index: int, *, up: bool) -> int | None:
        """The candidate whose result did most to move this one that way, or else the first that it overtook; None without."""
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
    """Rank anew, given the signal that candidates (by their index) showed when they were run.

    The network learnt from people who went on looking: whatever was run did not show the cause, and its tool may not show it at
    all. That is known of a result that shows nothing unusual. One that stands out may be the cause itself: those keep the
    probability that they have without their own results, and the rest share what is left as if those were not it.
    """
    encoded = ranker.encode(replace(incident, findings=()), queries)
    passes: dict[frozenset[int], Ranking] = {}

    def given(some: Mapping[int, float]) -> Ranking:
        known = frozenset(some)
        if known not in passes:
            passes[known] = ranker.ranking(replace(encoded, features=with_found(encoded, some)) if some else encoded)
        return passes[known]

    significant = [i for i, signal in found.items() if signal >= SIGNIFICANT]
    normal = {i: signal for i, signal in found.items() if signal < SIGNIFICANT}
    before = given({})
    # What its neighbours fail to show is not held against a tool while one of its results stands out.
    suspects, everything = given(normal), penalized(given(found), encoded, found)
    rest = excluding(everything, encoded, significant)
    left = max(_CERTAIN, 1.0 - float(np.exp(suspects.log_probability[significant]).sum()))
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
    """The ranking given that none of the candidates ``gone`` shows the cause: theirs becomes minus infinity."""
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
