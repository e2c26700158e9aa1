"""What is usual for each template, from labelled incidents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from revelio.encoders.background import OUT, Background, Usual
from revelio.encoders.query import with_surprise
from revelio.training.batch import Example


def background(examples: Iterable[Example]) -> Background:
    """How far each template read in the incidents where none of its queries was accepted."""
    return _background(map(_furthest, examples))


def against_the_others(examples: Sequence[Example]) -> list[Example]:
    """Each example as it looks against the background of all others: as a new incident will look against theirs."""
    furthest = [_furthest(e) for e in examples]
    found = []
    for i, example in enumerate(examples):
        usual = _background(furthest[:i] + furthest[i + 1 :])
        found.append(replace(example, encodings=tuple(with_surprise(x, usual) for x in example.encodings)))
    return found


def _background(furthest: Iterable[dict[str, float]]) -> Background:
    incidents: dict[str, int] = defaultdict(int)
    out: dict[str, list[float]] = defaultdict(list)
    for readings in furthest:
        for template, reading in readings.items():
            incidents[template] += 1
            if reading >= OUT:
                out[template].append(reading)
    return Background({t: Usual(n, tuple(sorted(out[t]))) for t, n in incidents.items()})


def _furthest(example: Example) -> dict[str, float]:
    """The furthest reading of each template that is not accepted."""
    encoded = example.encodings[0]
    furthest = np.full(len(encoded.templates), -np.inf)
    np.maximum.at(furthest, encoded.template_of, encoded.feature("worst"))
    accepted = set(encoded.template_of[example.grades > 0].tolist())
    return {t.id: round(float(furthest[i]), 3) for i, t in enumerate(encoded.templates) if i not in accepted}
