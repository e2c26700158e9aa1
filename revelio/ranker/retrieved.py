"""Imported questions that no evidence speaks for, in the order in which retrieval finds them by the report."""

from __future__ import annotations

import numpy as np

from revelio.encoders.query import EncodedIncident
from revelio.encoders.report import Floats
from revelio.ranker.scoring import Ranking, with_joint

SCALE = 1.0
"""Turns the retrieval scores into logits; fitted on pairs of texts and queries, by likelihood."""


def by_report(ranking: Ranking, encoded: EncodedIncident, retrieved: Floats | None) -> Ranking:
    """The ranking with the probability of these questions shared out by their scores ``[N]``, NaN for all other candidates.

    Together they keep the probability that they had, and so do the bindings of one question relative to each other: what the
    model cannot know of questions that it never saw is only which of them answers the report.
    """
    if retrieved is None:
        return ranking
    joint = ranking.log_probability.astype(np.float64)
    at = np.flatnonzero(~np.isnan(retrieved))
    template = encoded.template_of[at]
    mass = np.full(len(encoded.templates), -np.inf)
    np.logaddexp.at(mass, template, joint[at])
    logits = np.full(len(encoded.templates), -np.inf)
    logits[template] = SCALE * retrieved[at]
    logits -= np.logaddexp.reduce(logits)
    joint[at] += np.logaddexp.reduce(joint[at]) + logits[template] - mass[template]
    return with_joint(ranking, encoded, joint)
