"""The number of queries to run until one shows the cause, with a fixed list or re-ranked after each result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from revelio.training.evaluation.method import Example, Method
from revelio.training.evaluation.metrics import ranking
from revelio.types import Finding

MAX_RUNS = 5


@dataclass(frozen=True, slots=True)
class RunsCurve:
    """The share of incidents whose cause is shown within 1, 2, ... 5 runs. Each incident counts once."""

    fixed: tuple[float, ...]
    reranked: tuple[float, ...]


def runs_needed(method: Method, example: Example, *, rerank: bool) -> int:
    """Runs until a query of grade 3; ``MAX_RUNS + 1`` if it takes more. With ``rerank`` each result re-ranks the rest."""
    incident, tried = example.incident, set[int]()
    order: Sequence[int] = ()
    for run in range(1, MAX_RUNS + 1):
        if rerank or run == 1:
            scores = method.score(incident, example.queries)
            order = ranking(incident.id, example.queries, scores.log_probabilities).tolist()
        chosen = next((i for i in order if i not in tried), None)
        if chosen is None:
            break
        if example.grades[chosen] == 3:
            return run
        tried.add(chosen)
        signal = example.signals[chosen] if len(example.signals) else np.nan
        if np.isfinite(signal):
            query = example.queries[chosen]
            finding = Finding(query.template.id, query.bindings, float(signal))
            incident = replace(incident, findings=(*incident.findings, finding))
    return MAX_RUNS + 1


def runs_curve(method: Method, by_incident: Sequence[Sequence[Example]]) -> RunsCurve:
    """The curve over incidents, each the mean over its reports."""

    def curve(*, rerank: bool) -> tuple[float, ...]:
        needed = [[runs_needed(method, e, rerank=rerank) for e in examples] for examples in by_incident]
        return tuple(float(np.mean([np.mean([n <= k for n in one]) for one in needed])) for k in range(1, MAX_RUNS + 1))

    return RunsCurve(curve(rerank=False), curve(rerank=True))


def together(curves: Sequence[RunsCurve], incidents: Sequence[int]) -> RunsCurve:
    """One curve over all ``incidents`` of several."""

    def mean(shares: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
        return tuple(float(np.average(after, weights=incidents)) for after in zip(*shares, strict=True))

    return RunsCurve(mean([c.fixed for c in curves]), mean([c.reranked for c in curves]))
