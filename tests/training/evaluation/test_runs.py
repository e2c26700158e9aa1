"""Running queries one after the other: down a fixed list, or ranked anew after each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.training.evaluation.method import Example, Scores, from_logits
from revelio.training.evaluation.runs import MAX_RUNS, RunsCurve, runs_curve, runs_needed, together
from revelio.types import Incident, Query
from tests.training.evaluation.made import Oracle, catalog, example


@dataclass
class Learner:
    """Believes in whatever ``before`` says, until a query was run that showed nothing: then in memory of payment."""

    before: Oracle
    name: str = "learner"

    def score(self, incident: Incident, queries: tuple[Query, ...]) -> Scores:
        if any(f.signal < 0.5 for f in incident.findings):
            right = [q.template.id == "meter.memory" and q.bindings[0][1] == "payment" for q in queries]
            return from_logits(np.array(right, dtype=float) * 10, 0.1)
        return self.before.score(incident, queries)


FIRST = Oracle(("meter.cpu", "cart"), ("meter.cpu", "orders"), ("meter.memory", "payment"))


@pytest.fixture
def one(tmp_path: Path) -> Example:
    made = example(catalog(tmp_path), {("meter.memory", "payment"): 3})
    return replace(made, signals=np.zeros(len(made.queries)))


def test_down_a_fixed_list_it_takes_as_many_runs_as_the_rank(one: Example) -> None:
    assert runs_needed(Learner(FIRST), one, rerank=False) == 3


def test_what_a_run_showed_is_told_before_the_next(one: Example) -> None:
    assert runs_needed(Learner(FIRST), one, rerank=True) == 2


def test_what_was_not_recorded_teaches_nothing(one: Example) -> None:
    unknown = replace(one, signals=np.full(len(one.queries), np.nan))
    assert runs_needed(Learner(FIRST), unknown, rerank=True) == 3


def test_a_cause_beyond_the_last_run_is_not_shown(one: Example, known: Catalog) -> None:
    nothing = replace(one, grades=np.zeros(len(one.queries), dtype=np.int64))
    assert runs_needed(FIRST, nothing, rerank=True) == MAX_RUNS + 1


def test_the_curve_counts_each_incident_once(one: Example) -> None:
    curve = runs_curve(Learner(FIRST), [[one, one], [one]])
    assert curve.fixed == (0.0, 0.0, 1.0, 1.0, 1.0)
    assert curve.reranked == (0.0, 1.0, 1.0, 1.0, 1.0)


@pytest.fixture
def known(tmp_path: Path) -> Catalog:
    return catalog(tmp_path)


def test_curves_together_count_each_incident_once() -> None:
    one, other = RunsCurve((0.5, 1.0), (0.75, 1.0)), RunsCurve((1.0, 1.0), (0.75, 0.75))
    assert together([one, other], [2, 6]) == RunsCurve((0.875, 1.0), (0.75, 0.8125))
