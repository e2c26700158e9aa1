"""The errors of a model by fault kind and by incident."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from revelio.systems.incidents.exchange import FaultRecord
from revelio.training.evaluation.metrics import Outcome
from revelio.training.evaluation.results import KindFigures, Missed

FaultOf = Mapping[str, tuple[str, FaultRecord]]
"""Split and fault of each incident with a fault, by id."""


def by_kind(faults: FaultOf, outcomes: Mapping[str, Sequence[Outcome]]) -> tuple[KindFigures, ...]:
    """One row per fault kind and split, lowest top-1 first."""
    groups: dict[tuple[str, str], list[Sequence[Outcome]]] = defaultdict(list)
    for incident, (split, fault) in faults.items():
        groups[split, fault.kind].append(outcomes[incident])
    rows = []
    for (split, kind), members in groups.items():
        wrong = Counter(o.first[0].template.id for one in members for o in one if o.rank > 1 and o.first)
        top1, top3 = (float(np.mean([np.mean([o.rank <= k for o in one]) for one in members])) for k in (1, 3))
        rows.append(KindFigures(split, kind, len(members), top1, top3, wrong.most_common(1)[0][0] if wrong else ""))
    return tuple(sorted(rows, key=lambda r: (r.split, r.top1, r.top3, r.kind)))


def missed(faults: FaultOf, outcomes: Mapping[str, Sequence[Outcome]]) -> tuple[Missed, ...]:
    """Incidents whose cause is not first for every report, largest rank first."""
    return tuple(sorted(_missed(faults, outcomes), key=lambda m: (m.split, -m.rank, m.incident)))


def _missed(faults: FaultOf, outcomes: Mapping[str, Sequence[Outcome]]) -> Iterator[Missed]:
    for incident, (split, fault) in faults.items():
        rank = float(np.mean([o.rank for o in outcomes[incident]]))
        worst = max(outcomes[incident], key=lambda o: o.rank)
        if rank > 1:
            first = tuple(q.id for q in worst.first)
            yield Missed(incident, split, fault.kind, fault.place, fault.strength, rank, first)
