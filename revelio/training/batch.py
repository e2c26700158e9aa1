"""Encoded incidents to padded batches for training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from revelio.encoders.query import EncodedIncident, with_found
from revelio.encoders.report import Floats
from revelio.ranker.session import INPUTS, network_inputs


@dataclass(frozen=True, slots=True)
class Example:
    """An incident with its reports' vectors, the grade of each candidate, and whether anything is wrong at all.

    ``encodings`` holds one encoding per report, since some features compare the report with the candidates;
    ``grades [T, C]`` is 0 for queries that are not accepted. ``signals [N]`` is what each candidate showed when it was
    run, NaN where that was not recorded.
    """

    id: str
    encodings: tuple[EncodedIncident, ...]
    grades: Floats
    faulty: bool
    signals: Floats


@dataclass(frozen=True, slots=True)
class Batch:
    """``inputs`` by the network's names, each with a leading batch dimension; ``grades [B, T, C]``; ``faulty [B]``."""

    inputs: dict[str, Floats]
    grades: Floats
    faulty: Floats


def batch(examples: Sequence[Example], reports: Sequence[int], found: Sequence[Mapping[int, float]] = ()) -> Batch:
    """Stack examples, each with the report chosen for it, padding every dimension to the largest.

    ``found`` gives for each example what candidates showed that were run already.
    """
    chosen = [e.encodings[r] for e, r in zip(examples, reports, strict=True)]
    if found:
        chosen = [replace(x, features=with_found(x, f)) if f else x for x, f in zip(chosen, found, strict=True)]
    rows = [network_inputs(x) for x in chosen]
    inputs = {name: _stack([row[name][0] for row in rows]) for name in INPUTS}
    return Batch(
        inputs=inputs,
        grades=_stack([e.grades for e in examples]),
        faulty=np.array([e.faulty for e in examples], dtype=np.float32),
    )


def _stack(arrays: Sequence[Floats]) -> Floats:
    shape = tuple(max(a.shape[d] for a in arrays) for d in range(arrays[0].ndim))
    stacked = np.zeros((len(arrays), *shape), dtype=np.float32)
    for row, array in zip(stacked, arrays, strict=True):
        row[tuple(slice(0, n) for n in array.shape)] = array
    return stacked
