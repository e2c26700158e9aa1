"""What was learned after training: a term added to the log-probability of each candidate whose template users judged.

Each template has one row of weights over the features of a candidate and the vector of the report. "No fault" is one more
outcome beside the candidates and gets no term; all outcomes are normalised together. A template without a row keeps the
probability of the network.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from revelio.encoders.query import FEATURES, EncodedIncident, Ints
from revelio.encoders.report import Floats
from revelio.ranker.scoring import Ranking, with_joint


@dataclass(frozen=True, slots=True)
class Head:
    """``weights [R, 1 + F + D]``: a row for each of ``templates`` (ids) over a constant, the features and the report."""

    templates: tuple[str, ...]
    weights: Floats

    @property
    def feature_weights(self) -> Floats:
        """``[R, 1 + F]``: the weights of the constant and the features."""
        return self.weights[:, : 1 + len(FEATURES)]

    @property
    def report_weights(self) -> Floats:
        """``[R, D]``: the weights of the report."""
        return self.weights[:, 1 + len(FEATURES) :]

    def gains(self, encoded: EncodedIncident) -> Floats:
        """``[N]``: the term added to the log-probability of each candidate."""
        index, row = with_row(encoded, self.templates)
        gains = np.zeros(len(encoded.queries), dtype=np.float32)
        if len(index):
            gains[index] = (readings(encoded, index) * self.feature_weights[row]).sum(axis=1) + (
                self.report_weights @ encoded.report
            )[row]
        return gains

    def apply(self, encoded: EncodedIncident, ranking: Ranking) -> Ranking:
        """The ranking with these terms; its three factors still add up."""
        gains = self.gains(encoded)
        if not gains.any():
            return ranking
        joint = np.asarray(ranking.log_probability, dtype=np.float64) + gains
        total = float(np.logaddexp.reduce(joint))
        no_fault, fault = np.log(max(ranking.abstain, 1e-12)), np.log(max(1.0 - ranking.abstain, 1e-12)) + total
        return replace(
            with_joint(ranking, encoded, joint),
            abstain=float(np.exp(no_fault - np.logaddexp(no_fault, fault))),
            learned=(gains - total).astype(np.float32),
        )


def with_row(encoded: EncodedIncident, templates: tuple[str, ...]) -> tuple[Ints, Ints]:
    """The candidates whose template has a row: their indices and their rows, both ``[n]``."""
    row_of = {t: i for i, t in enumerate(templates)}
    rows = np.array([row_of.get(t.id, -1) for t in encoded.templates], dtype=np.int64)[encoded.template_of]
    index = np.flatnonzero(rows >= 0)
    return index, rows[index]


def readings(encoded: EncodedIncident, index: Ints) -> Floats:
    """``[n, 1 + F]``: a constant and the features of the chosen candidates."""
    return np.concatenate([np.ones((len(index), 1), dtype=np.float32), encoded.features[index]], axis=1)
