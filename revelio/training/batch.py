"""Encoded incidents to training batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.query import EncodedIncident, Ints, with_found
from revelio.encoders.report import Floats
from revelio.ranker.session import network_inputs


@dataclass(frozen=True, slots=True)
class Example:
    """An incident with one encoding per report, the grade of each candidate, and whether there is a fault.

    ``encodings`` holds one encoding per report, since some features compare the report with the candidates;
    ``grades [N]`` is 0 for queries that are not accepted, ``signals [N]`` is what each candidate showed when it was
    run, NaN where that was not recorded.
    """

    id: str
    encodings: tuple[EncodedIncident, ...]
    grades: Floats
    faulty: bool
    signals: Floats
    parts: tuple[str, ...] = ()
    """The ids of the incidents that it is superposed from; of a simulated one, of its faults."""
    system: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """Concatenated incidents: ``inputs`` by network input name; ``grades [N]``, ``incident [N]`` of queries; ``faulty [B]`` and
    ``superposed [B]`` of incidents."""

    inputs: dict[str, NDArray[Any]]
    grades: Floats
    incident: Ints
    faulty: Floats
    superposed: NDArray[np.bool_]


def batch(examples: Sequence[Example], reports: Sequence[int], found: Sequence[Mapping[int, float]] = ()) -> Batch:
    """Concatenate examples, each with the report chosen for it.

    ``found`` gives for each example what candidates showed that were run already.
    """
    chosen = [e.encodings[r] for e, r in zip(examples, reports, strict=True)]
    if found:
        chosen = [replace(x, features=with_found(x, f)) if f else x for x, f in zip(chosen, found, strict=True)]
    return Batch(
        inputs=network_inputs(chosen),
        grades=np.concatenate([e.grades for e in examples]),
        incident=np.repeat(np.arange(len(chosen)), [len(x.queries) for x in chosen]),
        faulty=np.array([e.faulty for e in examples], dtype=np.float32),
        superposed=np.array([bool(e.parts) for e in examples], dtype=bool),
    )
