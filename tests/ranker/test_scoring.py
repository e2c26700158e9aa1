"""The order of a ranking."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from revelio.ranker.scoring import Ranking
from revelio.types import Query, QueryTemplate

FIRST, OTHER = (QueryTemplate(name, "t", name, "", "") for name in ("t.a", "t.b"))
SCORED = (
    (Query(OTHER, (("service", "x"),)), -1.0),
    (Query(FIRST, (("service", "z"),)), -2.0),
    (Query(OTHER, (("service", "a"),)), -2.0),
    (Query(FIRST, (("service", "b"),)), -2.0),
    (Query(FIRST, (("service", "c"),)), -np.inf),
    (Query(FIRST, (("service", "a"),)), -np.inf),
)


def test_the_most_probable_comes_first_and_ties_go_by_template_and_bindings_however_they_were_given() -> None:
    expected = [SCORED[i][0] for i in (0, 3, 1, 2, 5, 4)]
    for given in permutations(SCORED):
        queries = tuple(q for q, _ in given)
        scores, none = np.array([s for _, s in given], dtype=np.float32), np.zeros(len(given), dtype=np.float32)
        ranking = Ranking(queries, none, none, scores, 0.0)
        assert [queries[i] for i in ranking.order()] == expected
        for k in range(1, 8):
            assert [queries[i] for i in ranking.order(k)] == expected[:k]


def test_nothing_to_rank_has_an_empty_order() -> None:
    none = np.zeros(0, dtype=np.float32)
    assert Ranking((), none, none, none, 1.0).order().tolist() == []
