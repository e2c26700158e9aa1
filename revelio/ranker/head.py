"""What was learnt after training: an amount added to the log-probability of each candidate whose template people judged.

One row of weights a template, over the candidate's features and the report's vector. "Nothing points at a fault" is one more
outcome beside the candidates, and nothing is ever added to it; all outcomes are normalised together. A template without a
row, and so every template of a head without rows, keeps what the network gave it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.query import FEATURES, EncodedIncident, Ints
from revelio.encoders.report import Floats
from revelio.ranker.scoring import Ranking


@dataclass(frozen=True, slots=True)
class Head:
    """``weights [R, 1 + F + D]``: a row for each of ``templates`` (ids), over a constant, the features and the report."""

    templates: tuple[str, ...]
    weights: Floats

    @property
    def own(self) -> Floats:
        """``[R, 1 + F]``: the part that reads a candidate."""
        return self.weights[:, : 1 + len(FEATURES)]

    @property
    def told(self) -> Floats:
        """``[R, D]``: the part that reads the report."""
        return self.weights[:, 1 + len(FEATURES) :]

    def gains(self, encoded: EncodedIncident) -> Floats:
        """``[N]``: what is added to each candidate's log-probability."""
        index, row = judged(encoded, self.templates)
        gains = np.zeros(len(encoded.queries), dtype=np.float32)
        if len(index):
            gains[index] = (readings(encoded, index) * self.own[row]).sum(axis=1) + (self.told @ encoded.report)[row]
        return gains

    def apply(self, encoded: EncodedIncident, ranking: Ranking) -> Ranking:
        """The ranking with what was learnt; its three factors still add up."""
        gains = self.gains(encoded)
        if not gains.any():
            return ranking
        joint = np.asarray(ranking.log_probability, dtype=np.float64) + gains
        total = float(np.logaddexp.reduce(joint))
        joint -= total
        calm, fault = np.log(max(ranking.abstain, 1e-12)), np.log(max(1.0 - ranking.abstain, 1e-12)) + total
        template = _log_mass(joint, encoded.template_of, len(encoded.templates))
        tool = _log_mass(template, encoded.tool_of, len(encoded.tools))
        return replace(
            ranking,
            log_tool=tool[encoded.tool_of[encoded.template_of]].astype(np.float32),
            log_template=(template - tool[encoded.tool_of])[encoded.template_of].astype(np.float32),
            log_value=(joint - template[encoded.template_of]).astype(np.float32),
            abstain=float(np.exp(calm - np.logaddexp(calm, fault))),
            learned=(gains - total).astype(np.float32),
        )


def judged(encoded: EncodedIncident, templates: tuple[str, ...]) -> tuple[Ints, Ints]:
    """The candidates whose template has a row: their indices and rows, both ``[n]``."""
    row_of = {t: i for i, t in enumerate(templates)}
    rows = np.array([row_of.get(t.id, -1) for t in encoded.templates], dtype=np.int64)[encoded.template_of]
    index = np.flatnonzero(rows >= 0)
    return index, rows[index]


def readings(encoded: EncodedIncident, index: Ints) -> Floats:
    """``[n, 1 + F]``: a constant and the features of the chosen candidates."""
    return np.concatenate([np.ones((len(index), 1), dtype=np.float32), encoded.features[index]], axis=1)


def _log_mass(values: NDArray[np.float64], group: Ints, count: int) -> NDArray[np.float64]:
    mass = np.full(count, -np.inf)
    np.logaddexp.at(mass, group, values)
    return mass
