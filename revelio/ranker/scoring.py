"""Logits to a ranking: three softmaxes whose logarithms add up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from revelio.catalog.candidates import OPEN
from revelio.encoders.query import EncodedIncident, Ints
from revelio.encoders.report import Floats
from revelio.types import Query

RUN_PENALTY = 2.0
"""How much each query that did not show the cause lowers the logit of its tool.

For unknown causes the network is overconfident of the tool; another tool finds them sooner. Chosen within the training
split, on fault kinds and an application held out from the networks.
"""


OPEN_SHARE = 0.1
"""At most this much of the probability is that of metrics which no convention covers: what they mean is not known, and of many
hundreds some always deviate."""


@dataclass(frozen=True, slots=True)
class Logits:
    """The output of the network for one incident: ``tool [K]``, ``template [T]``, ``value [N]``, and abstain (no fault)."""

    tool: Floats
    template: Floats
    value: Floats
    abstain: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Platt scaling of the abstain logit and a temperature of all others, fitted on systems left out of training."""

    abstain_slope: float = 1.0
    abstain_offset: float = 0.0
    temperature: float = 1.0


@dataclass(frozen=True, slots=True)
class Ranking:
    """Log-probabilities of all candidates in the given order; the three factors add up to ``log_probability``.

    ``abstain`` is the probability of no fault. ``learned [N]`` is the change by feedback; empty without one.
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
        """Indices of all candidates, or of the first ``k``: most probable first, ties by template and bindings, so that two
        runs agree."""
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
    """Normalise each level among the existing candidates; a higher ``temperature`` flattens the distribution."""
    template, temperature = encoded.template_of, temperature * calibration.temperature
    return Ranking(
        queries=encoded.queries,
        log_tool=_log_softmax(logits.tool / temperature, np.zeros_like(logits.tool, dtype=np.int64))[encoded.tool_of[template]],
        log_template=_log_softmax(logits.template / temperature, encoded.tool_of)[template],
        log_value=_log_softmax(logits.value / temperature, template),
        abstain=_sigmoid(calibration.abstain_slope * logits.abstain + calibration.abstain_offset),
    )


def penalized(ranking: Ranking, encoded: EncodedIncident, failed: Iterable[int]) -> Ranking:
    """The ranking after candidates (indices) were run without showing the cause: each lowers the probability of its tool."""
    tool_of = encoded.tool_of[encoded.template_of]
    penalty = RUN_PENALTY * np.bincount(tool_of[list(failed)], minlength=len(encoded.tools))
    if not penalty.any():
        return ranking
    log_tool = np.full(len(penalty), -np.inf)
    log_tool[tool_of] = ranking.log_tool
    log_tool -= penalty
    return replace(ranking, log_tool=(log_tool - np.logaddexp.reduce(log_tool))[tool_of].astype(np.float32))


def with_joint(ranking: Ranking, encoded: EncodedIncident, joint: NDArray[np.float64]) -> Ranking:
    """The ranking with these log-probabilities ``[N]``, normalised, as its three factors."""
    joint = joint - np.logaddexp.reduce(joint)
    template = _log_mass(joint, encoded.template_of, len(encoded.templates))
    tool = _log_mass(template, encoded.tool_of, len(encoded.tools))
    return replace(
        ranking,
        log_tool=tool[encoded.tool_of[encoded.template_of]].astype(np.float32),
        log_template=(template - tool[encoded.tool_of])[encoded.template_of].astype(np.float32),
        log_value=(joint - template[encoded.template_of]).astype(np.float32),
    )


def cap_uncovered_metrics(ranking: Ranking, encoded: EncodedIncident) -> Ranking:
    """The ranking with at most ``OPEN_SHARE`` for metrics that no convention covers, unless nothing else can be asked."""
    known = np.array([not any(r.metric.startswith(OPEN) for r in t.reads) for t in encoded.templates], dtype=bool)
    if known.all() or not known.any():
        return ranking
    at = known[encoded.template_of]
    joint = ranking.log_probability.astype(np.float64)
    rest = np.exp(joint[at]).sum()
    if 1.0 - rest <= OPEN_SHARE:
        return ranking
    joint[~at] += np.log(OPEN_SHARE / (1.0 - OPEN_SHARE)) + np.log(max(rest, 1e-300)) - np.log(1.0 - rest)
    return with_joint(ranking, encoded, joint)


def _log_mass(values: NDArray[np.float64], group: Ints, count: int) -> NDArray[np.float64]:
    mass = np.full(count, -np.inf)
    np.logaddexp.at(mass, group, values)
    return mass


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, x))))


def _log_softmax(values: Floats, group: Ints) -> Floats:
    """Within each group."""
    values = values.astype(np.float64)  # `at` is slow where it has to convert
    top = np.full(int(group.max()) + 1, -np.inf)
    np.maximum.at(top, group, values)
    total = np.bincount(group, weights=np.exp(values - top[group]))
    return np.asarray(values - (top + np.log(total))[group], dtype=np.float32)
