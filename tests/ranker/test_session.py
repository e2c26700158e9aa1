"""The bundled ranker at work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import revelio.catalog
from revelio.encoders.query import with_found
from revelio.ranker.artifact import load_ranker
from revelio.ranker.scoring import RUN_PENALTY
from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.settings import BUNDLED, load_settings
from revelio.types import Finding


def test_a_query_that_was_run_and_did_not_show_the_cause_costs_its_tool_more_than_the_network_makes_of_it() -> None:
    service, ranker = Service(load_settings()), load_ranker(BUNDLED / "model")
    incident = service.incidents.get(service.incidents.ids()[0]).incident()
    queries = service.recommender.candidates(incident)
    first = int(ranker.rank_after_runs(incident, queries).order(1)[0])
    tried = replace(incident, findings=(Finding(queries[first].template.id, queries[first].bindings, 0.0),))

    network, ranked = ranker.rank(ranker.encode(tried, queries)), ranker.rank_after_runs(tried, queries)
    other = next(i for i, q in enumerate(queries) if q.template.tool != queries[first].template.tool)
    lost = (ranked.log_tool - network.log_tool)[[other, first]]
    assert lost[0] - lost[1] == pytest.approx(RUN_PENALTY, abs=1e-4)
    assert np.exp(ranked.log_probability).sum() == pytest.approx(1.0, abs=1e-4)


def test_logits_from_before_any_run_that_the_caller_has_give_the_same_ranking() -> None:
    service, ranker = Service(load_settings()), load_ranker(BUNDLED / "model")
    incident = service.incidents.get(service.incidents.ids()[0]).incident()
    queries = service.recommender.candidates(incident)
    encoded = ranker.encode(incident, queries)
    unrun = ranker.logits(encoded)
    for features in (encoded.features, with_found(encoded, {0: 0.9, 3: 0.0})):
        tried = replace(encoded, features=features)
        assert np.array_equal(ranker.rank(tried, unrun).log_probability, ranker.rank(tried).log_probability)


UNSEEN = """
tool: profiler
title: Profiler
about: CPU profiles of services.
templates:
  - id: profile_cpu
    title: CPU profile of ${service}
    shows: Which functions of ${service} use the processor.
    body: profile_cpu(service="${service}")
    blanks: {service: service}
---
tool: notes
title: Notes of the shift
templates:
  - id: shift_notes
    title: Why the shop is slow
    body: get_notes()
"""


def test_a_tool_without_data_never_takes_all_of_the_probability_from_those_with_data(tmp_path: Path) -> None:
    (tmp_path / "unseen.yaml").write_text(UNSEEN, encoding="utf-8")
    files = [*sorted(Path(revelio.catalog.__file__).parent.glob("*.yaml")), tmp_path / "unseen.yaml"]
    service = Service(load_settings().model_copy(update={"catalog": files}))
    for name in service.incidents.ids():
        answer = service.rank(RecommendRequest("the shop is slow", incident=name, k=50))
        taken = sum(q.probability for q in answer.queries if q.query.template.tool in ("profiler", "notes"))
        assert taken < 0.8, name
