"""Logits to a ranking: three softmaxes whose logarithms add up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from revelio.encoders.query import EncodedIncident, Ints
from revelio.encoders.report import Floats
from revelio.types import Query

RUN_PENALTY = 2.0
"""By how much each query that did not show the cause lowers its tool's logit.

Of a cause that it does not know the network is surer of the tool than it may be: whoever goes on looking finds it sooner with
another. Chosen within the training split, on kinds of faults and an application that had been kept from networks.
"""


@dataclass(frozen=True, slots=True)
class Logits:
    """What the network says of one incident: ``tool [K]``, ``template [T]``, ``value [N]``, and abstain."""

    tool: Floats
    template: Floats
    value: Floats
    abstain: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Slope and offset for the abstain logit, fitted on incidents that the networks had not seen."""

    abstain_slope: float = 1.0
    abstain_offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Ranking:
    """Log-probabilities of every candidate, in the order they were given; the three add up to ``log_probability``.

    ``learned [N]`` is by how much what was learnt from feedback changed each; empty where it changed none.
    """

    queries: tuple[Query, ...]
    log_tool: Floats
    log_template: Floats
    log_value: Floats
    abstain: float
    learned: Floats = field(default_factory=lambda: np.zeros(0, dtype=np.float32))

    @property
    def log_probability(self) -> Floats:
        """``[N]``; its exponentials sum to 1."""
        return np.asarray(self.log_tool + self.log_template + self.log_value)

    def order(self, k: int | None = None) -> Ints:
        """Indices of all candidates, or the first ``k``: most probable first, ties by template and bindings, so that two runs
        agree."""
        log_probability = self.log_probability
        among = np.arange(len(log_probability))
        if k is not None and k < len(among):
            among = np.flatnonzero(-log_probability <= np.partition(-log_probability, k - 1)[k - 1])
        order = among[np.argsort(-log_probability[among], kind="stable")]
        ordered = log_probability[order]
        start = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        end = np.append(start[1:], len(order))
        tied = end - start > 1
        for first, last in zip(start[tied].tolist(), end[tied].tolist(), strict=True):
            order[first:last] = sorted(order[first:last], key=self._name)
        return np.asarray(order[:k], dtype=np.int64)

    def _name(self, index: int) -> tuple[str, tuple[tuple[str, str], ...]]:
        query = self.queries[index]
        return query.template.id, query.bindings


def rank(encoded: EncodedIncident, logits: Logits, calibration: Calibration, temperature: float = 1.0) -> Ranking:
    """Normalise each level among the candidates that exist; the higher the ``temperature``, the less sure."""
    template = encoded.template_of
    return Ranking(
        queries=encoded.queries,
        log_tool=_log_softmax(logits.tool / temperature, np.zeros_like(logits.tool, dtype=np.int64))[encoded.tool_of[template]],
        log_template=_log_softmax(logits.template / temperature, encoded.tool_of)[template],
        log_value=_log_softmax(logits.value / temperature, template),
        abstain=_sigmoid(calibration.abstain_slope * logits.abstain + calibration.abstain_offset),
    )


def penalized(ranking: Ranking, encoded: EncodedIncident, failed: Iterable[int]) -> Ranking:
    """The ranking once candidates (indices) were run and did not show the cause: each is held against its tool."""
    tool_of = encoded.tool_of[encoded.template_of]
    doubt = RUN_PENALTY * np.bincount(tool_of[list(failed)], minlength=len(encoded.tools))
    if not doubt.any():
        return ranking
    log_tool = np.full(len(doubt), -np.inf)
    log_tool[tool_of] = ranking.log_tool
    log_tool -= doubt
    return replace(ranking, log_tool=(log_tool - np.logaddexp.reduce(log_tool))[tool_of].astype(np.float32))


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, x))))


def _log_softmax(values: Floats, group: Ints) -> Floats:
    """Within each group."""
    values = values.astype(np.float64)  # `at` is slow where it has to convert
    top = np.full(int(group.max()) + 1, -np.inf)
    np.maximum.at(top, group, values)
    total = np.bincount(group, weights=np.exp(values - top[group]))
    return np.asarray(values - (top + np.log(total))[group], dtype=np.float32)
