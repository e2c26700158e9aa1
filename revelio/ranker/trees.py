"""Ranking trees beside the network: an ONNX tree ensemble over features that know no template by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.inference import open_session
from revelio.encoders.query import TREE_FEATURES
from revelio.encoders.report import Floats
from revelio.errors import ArtifactError

INPUT, OUTPUT = "matches", "score"


class Trees:
    """Scores candidates. Safe to share between threads."""

    def __init__(self, weights: Path) -> None:
        """``ArtifactError`` when the file is damaged or reads other features."""
        self._session = open_session(weights)
        wanted = self._session.get_inputs()[0].shape[-1]
        if wanted != len(TREE_FEATURES):
            raise ArtifactError(f"{weights}: trained with other features than this version has; train a new model")

    def log_probabilities(self, matches: Floats) -> NDArray[np.float64]:
        """``[N]``, normalised, of ``matches [N, M]``."""
        scores = self._session.run([OUTPUT], {INPUT: matches})[0][:, 0].astype(np.float64)
        return np.asarray(scores - np.logaddexp.reduce(scores))
