"""Null distributions of templates, from labelled incidents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from revelio.encoders.null_distribution import MIN_DEVIATION, NullDistribution, NullDistributions
from revelio.encoders.query import with_rarity
from revelio.training.batch import Example


def nulls(examples: Iterable[Example]) -> NullDistributions:
    """The readings of each template in the incidents where none of its queries is accepted."""
    return _null_distributions(map(_largest, examples))


def leave_one_out(examples: Sequence[Example]) -> list[Example]:
    """Each example with rarity features from the null distributions of all other examples, as for a new incident."""
    return against_others(examples, examples)


def against_others(examples: Iterable[Example], known: Sequence[Example]) -> list[Example]:
    """Each example with rarity features from those ``known`` that are neither it nor part of it."""
    largest = [(e.id, _largest(e)) for e in known]
    found = []
    for example in examples:
        own = (example.id, *example.parts)
        others = _null_distributions(readings for name, readings in largest if name not in own)
        found.append(replace(example, encodings=tuple(with_rarity(x, others) for x in example.encodings)))
    return found


def _null_distributions(largest: Iterable[dict[str, float]]) -> NullDistributions:
    incidents: dict[str, int] = defaultdict(int)
    out: dict[str, list[float]] = defaultdict(list)
    for readings in largest:
        for template, reading in readings.items():
            incidents[template] += 1
            if reading >= MIN_DEVIATION:
                out[template].append(reading)
    return NullDistributions({t: NullDistribution(n, tuple(sorted(out[t]))) for t, n in incidents.items()})


def _largest(example: Example) -> dict[str, float]:
    """The peak reading of each template without an accepted query."""
    encoded = example.encodings[0]
    largest = np.full(len(encoded.templates), -np.inf)
    np.maximum.at(largest, encoded.template_of, encoded.feature("worst"))
    accepted = set(encoded.template_of[example.grades > 0].tolist())
    return {t.id: round(float(largest[i]), 3) for i, t in enumerate(encoded.templates) if i not in accepted}
