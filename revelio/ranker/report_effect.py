"""What a report changed, in words: whom it raised, whom it lowered, and whom telemetry suspects that it does not speak of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from revelio.encoders.candidate_index import bound_names
from revelio.encoders.evidence import component
from revelio.ranker.scoring import Ranking
from revelio.types import Query

NOT_UNDERSTOOD = "The report has no word that the model knows, so that the evidence alone was ranked"
SAME = "Without the report, the same query would come first"
WORTH_SAYING = 0.05
"""Changes of probability below are not mentioned."""
SUSPECT = 0.15
"""From this probability on without the report, a component is a suspect."""


def report_effect(ranking: Ranking, without: Ranking) -> str:
    """Compares the ranking of an incident with that of its evidence alone, component by component."""
    names = _components(ranking.queries)
    now, before = _mass(ranking, names), _mass(without, names)
    change = {name: now[name] - before[name] for name in now}
    raised, lowered = max(change, key=lambda n: (change[n], n)), min(change, key=lambda n: (change[n], n))
    said = []
    if change[raised] >= WORTH_SAYING:
        fell = f" and lowered {lowered} by {_points(change[lowered])}" if -change[lowered] >= WORTH_SAYING else ""
        said.append(f"The report raised {raised} by {_points(change[raised])}{fell}")
    first, alone = ranking.order(1)[0], without.order(1)[0]
    if ranking.queries[first] == ranking.queries[alone]:
        said.append(SAME)
    else:
        said.append(f"Without the report, another query would come first: {ranking.queries[alone].title}")
    suspect = max((n for n in before if n != names[first]), key=lambda n: (before[n], n), default="")
    if suspect and before[suspect] >= SUSPECT and change[suspect] <= -WORTH_SAYING:
        said.append(f"Telemetry also points at {suspect}, which the report does not describe")
    return ". ".join(said)


def _components(queries: Sequence[Query]) -> list[str]:
    """The component of each query; "the whole system" where it has no target."""
    bound = (bound_names(q) for q in queries)
    return [component(names[0]) if names else "the whole system" for names in bound]


def _mass(ranking: Ranking, names: Sequence[str]) -> dict[str, float]:
    found = dict.fromkeys(names, 0.0)
    for name, chance in zip(names, np.exp(ranking.log_probability.astype(np.float64)).tolist(), strict=True):
        found[name] += chance
    return found


def _points(change: float) -> str:
    return f"{abs(change) * 100:.0f} points"
