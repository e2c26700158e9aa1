"""How far each template's readings go while something else is wrong, so that what is rare there can weigh more.

Errors and slow answers follow from most faults; a queue of writers or a full table of files from one. The share of incidents
in which a template read as far though it was not what showed the cause is a conformal p-value (Laxhammar & Falkman, 2010):
comparable between templates, and known of causes that nobody has seen yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.report import Floats

Ints = NDArray[np.int64]

MIN_DEVIATION = float(np.log1p(1.0) / 3.0)
"""A squashed distance (of one spread) from which on a reading is out at all; nearer ones surprise nobody."""
MIN_INCIDENTS = 10
"""Of a template that was seen in fewer incidents, what is usual for all templates together is taken for usual."""
ONE_IN = 100.0
"""A surprise of 1 is what one incident in so many shows."""
_FAR = 1e3
"""Further than any squashed distance."""
_SAME = 1e-3
"""Readings that differ by less are as far: the same change, or the same count."""


@dataclass(frozen=True, slots=True)
class NullDistribution:
    """In how many incidents a template did not show the cause, and its furthest readings in those where it was out, ascending."""

    incidents: int = 0
    readings: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class NullDistributions:
    """What is usual, by template id. An empty one is surprised by nothing."""

    templates: Mapping[str, NullDistribution] = field(default_factory=dict)

    def of(self, templates: Sequence[str]) -> AlignedNulls:
        """What to expect of these templates, in this order."""
        together = NullDistribution(
            sum(u.incidents for u in self.templates.values()),
            tuple(sorted(r for u in self.templates.values() for r in u.readings)),
        )
        seen = {t: u for t, u in self.templates.items() if u.incidents >= MIN_INCIDENTS}
        groups = [together, *(seen[t] for t in templates if t in seen)]
        number = {t: i for i, t in enumerate((t for t in templates if t in seen), 1)}
        return AlignedNulls(
            keys=np.concatenate([np.array(u.readings) + _FAR * i for i, u in enumerate(groups)]),
            ends=np.cumsum([len(u.readings) for u in groups], dtype=np.int64),
            incidents=np.array([u.incidents for u in groups], dtype=np.int64),
            group_of=np.array([number.get(t, 0) for t in templates], dtype=np.int64),
        )


@dataclass(frozen=True, slots=True)
class AlignedNulls:
    """A background lined up with templates: ``keys`` are the usual readings of groups of them end to end, each ``_FAR`` further.

    ``ends [G]`` says where each group's readings end among them, ``incidents [G]`` in how many incidents it was seen, and
    ``group_of [T]`` which group a template belongs to. The first group is all templates together.
    """

    keys: NDArray[np.float64]
    ends: Ints
    incidents: Ints
    group_of: Ints

    def rarity(self, template_of: Ints, largest: Floats) -> Floats:
        """``[N, 2]``: how seldom a candidate's template, and any template, reads as far as ``largest [N]``.

        0 is always, 1 is in one incident of ``ONE_IN``.
        """
        own = self.group_of[template_of]
        return np.stack([self._rare(own, largest), self._rare(np.zeros_like(own), largest)], axis=1)

    def _rare(self, group: Ints, largest: Floats) -> Floats:
        seen = self.incidents[group]
        as_far = self.ends[group] - np.searchsorted(self.keys, largest + _FAR * group - _SAME)
        rare = -np.log((1.0 + as_far) / (1.0 + seen)) / np.log(ONE_IN)
        return np.where((largest >= MIN_DEVIATION) & (seen > 0), rare, 0.0).astype(np.float32)
