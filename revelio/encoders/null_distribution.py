"""The deviations that each template reads during incidents with other causes: its null distribution.

Errors and slow responses follow from most faults, a full file table from one. The share of incidents in which a template
deviated as much although it did not show the cause is a conformal p-value (Laxhammar & Falkman, 2010): comparable between
templates, and defined for causes that training never saw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from revelio.encoders.report import Floats

Ints = NDArray[np.int64]

MIN_DEVIATION = float(np.log1p(1.0) / 3.0)
"""The squashed deviation (1σ) from which on a reading counts; smaller ones have rarity 0."""
MIN_INCIDENTS = 10
"""A template seen in fewer incidents uses the pooled null distribution of all templates."""
ONE_IN = 100.0
"""Rarity 1 means: seen in one of so many incidents."""
_FAR = 1e3
"""Larger than any squashed deviation."""
_SAME = 1e-3
"""Readings that differ by less count as equal: the same change, or the same count."""


@dataclass(frozen=True, slots=True)
class NullDistribution:
    """The number of incidents whose cause a template did not show, and its peak readings of at least 1σ there, ascending."""

    incidents: int = 0
    readings: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class NullDistributions:
    """Null distributions by template id. Without any, every rarity is 0."""

    templates: Mapping[str, NullDistribution] = field(default_factory=dict)

    @property
    def known(self) -> frozenset[str]:
        """The ids of the templates with a null distribution of their own."""
        return frozenset(t for t, u in self.templates.items() if u.incidents >= MIN_INCIDENTS)

    def of(self, templates: Sequence[str]) -> AlignedNulls:
        """The null distributions of these templates, in this order."""
        together = NullDistribution(
            sum(u.incidents for u in self.templates.values()),
            tuple(sorted(r for u in self.templates.values() for r in u.readings)),
        )
        seen = {t: self.templates[t] for t in self.known}
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
    """Null distributions aligned with templates. ``keys`` are the readings of groups end to end, each group offset by ``_FAR``.

    ``ends [G]`` is where the readings of each group end, ``incidents [G]`` the number of its incidents, and ``group_of [T]``
    the group of each template. The first group pools all templates.
    """

    keys: NDArray[np.float64]
    ends: Ints
    incidents: Ints
    group_of: Ints

    def rarity(self, template_of: Ints, largest: Floats) -> Floats:
        """``[N, 2]``: how rarely the template of a candidate, and any template, deviates as much as ``largest [N]``.

        0 means always, 1 means in one of ``ONE_IN`` incidents.
        """
        own = self.group_of[template_of]
        return np.stack([self._rare(own, largest), self._rare(np.zeros_like(own), largest)], axis=1)

    def _rare(self, group: Ints, largest: Floats) -> Floats:
        seen = self.incidents[group]
        as_far = self.ends[group] - np.searchsorted(self.keys, largest + _FAR * group - _SAME)
        rare = -np.log((1.0 + as_far) / (1.0 + seen)) / np.log(ONE_IN)
        return np.where((largest >= MIN_DEVIATION) & (seen > 0), rare, 0.0).astype(np.float32)
