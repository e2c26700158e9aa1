"""What the network and the ranking trees say together, and what holds of any system for templates that neither knows.

The network has learned what each template of its catalog shows; the trees know templates by their readings only, and err
elsewhere. Of a catalog that training never saw both are guesses, so that two rules of thumb count as well: the cause lies where
a figure deviates more than that of everything called from there, and a report names what it complains of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.identity_cache import cached_by_identity
from revelio.encoders.query import TREE_FEATURES, EncodedIncident
from revelio.encoders.report import Floats
from revelio.ranker.scoring import Ranking, with_joint
from revelio.ranker.trees import Trees

SHARE = 0.5
"""The weight of the trees' log-probabilities where all templates are known; the network has the rest."""
ABOVE_CALLEES, NAMED = 2.0, 2.0
"""How much the two rules add to log-probabilities where no template is known: for each unit of squashed deviation above the
callees, and for the template that shares most words with the report."""
KNOWN_TEMPERATURE, UNKNOWN_TEMPERATURE = 0.5, 2.0
"""The mean of two log-probabilities is too flat where both know the templates; what was learned elsewhere is overconfident."""
_ABOVE, _NAMED = TREE_FEATURES.index("read_above_callees"), TREE_FEATURES.index("named")


class Blend:
    """Adds trees and rules to rankings of the network. ``known`` are the ids of templates that training saw.

    Weights and temperatures were chosen by leaving systems out of the training split (docs/adr/0012).
    """

    def __init__(self, trees: Trees, known: frozenset[str]) -> None:
        """Results of the trees are cached, because an incident is ranked again after each run."""
        self._known = known
        self._trees: Callable[[Floats], NDArray[np.float64]] = cached_by_identity(trees.log_probabilities)

    def known(self, encoded: EncodedIncident) -> float:
        """The share of the templates asked about that training saw."""
        return sum(t.id in self._known for t in encoded.templates) / max(1, len(encoded.templates))

    def apply(self, encoded: EncodedIncident, ranking: Ranking, before: Ranking, temperature: float = 1.0) -> Ranking:
        """``ranking`` with these terms. ``before`` is that of the same incident before any query was run, of which trees know
        nothing: what the network makes of a result counts in full. ``temperature`` is that of both rankings, for the trees."""
        known = self.known(encoded)
        first = before.log_probability.astype(np.float64)
        rules = ABOVE_CALLEES * encoded.matches[:, _ABOVE] + NAMED * encoded.matches[:, _NAMED]
        trees = self._trees(encoded.matches) / temperature
        mixed = first + SHARE * known * (trees - first) + (1.0 - known) * rules
        mixed /= KNOWN_TEMPERATURE * known + UNKNOWN_TEMPERATURE * (1.0 - known)
        joint = mixed + (ranking.log_probability - first)
        return replace(with_joint(ranking, encoded, joint), abstain=ranking.abstain)
