"""What training makes of an incident: less of the same, never something else."""

from __future__ import annotations

import random

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.encoders.query import FEATURES, RARITY, QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.ranker.session import network_inputs
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.training.batch import Example
from revelio.training.examples import examples

torch = pytest.importorskip("torch")

from revelio.training.augment import jitter, template_dropout  # noqa: E402


@pytest.fixture(scope="module")
def known(catalog: Catalog, incidents: list[LabelledIncident]) -> list[Example]:
    text = HashingEncoder(64)
    return examples(incidents[:8], catalog, text, QueryEncoder(text, {}, {}))


def test_what_is_left_of_a_thinned_incident_is_as_it_was(known: list[Example]) -> None:
    rng = random.Random(1)
    fewer = 0
    for whole in known * 20:
        left = template_dropout(whole, 1, rng)
        before, after = whole.encodings[1], left.encodings[0]
        fewer += len(after.queries) < len(before.queries)
        at = [before.queries.index(q) for q in after.queries]
        assert (after.features == before.features[at]).all()
        assert (left.grades == whole.grades[at]).all()
        assert (left.signals == whole.signals[at]).all() or np.isnan(left.signals).all()
        for query, template in zip(after.queries, after.template_of, strict=True):
            assert after.templates[template] is query.template
            assert after.tools[after.tool_of[template]] == query.template.tool
        same = [(before.near[i] == before.near[j]) for i in at for j in at]
        assert same == [a == b for a in after.near for b in after.near]
    assert fewer > 40


def test_something_accepted_is_always_left(known: list[Example]) -> None:
    rng = random.Random(2)
    for whole in known * 20:
        assert template_dropout(whole, 0, rng).grades.any() == whole.grades.any()


def test_figures_tremble_and_what_belongs_to_what_does_not(known: list[Example]) -> None:
    torch.manual_seed(0)
    inputs = {name: torch.from_numpy(value) for name, value in network_inputs([known[0].encodings[0]]).items()}
    after = jitter(inputs, torch.zeros(len(inputs["features"]), dtype=torch.int64), torch.tensor([False]))
    assert not torch.equal(after["features"], inputs["features"])
    for name in ("tool_of_template", "template_of_query", "near", "template_text"):
        assert torch.equal(after[name], inputs[name])


def test_of_some_templates_nothing_is_known_but_what_all_do_together(known: list[Example]) -> None:
    torch.manual_seed(0)
    inputs = {name: torch.from_numpy(value) for name, value in network_inputs([known[0].encodings[0]]).items()}
    own, overall = (FEATURES.index(name) for name in RARITY)
    inputs["features"][:, own], inputs["features"][:, overall] = 5.0, 1.0
    unknown = 0
    for _ in range(20):
        after = jitter(inputs, torch.zeros(len(inputs["features"]), dtype=torch.int64), torch.tensor([False]))["features"]
        per_template = [after[inputs["template_of_query"] == t, own] for t in range(len(inputs["template_text"]))]
        unknown += sum(bool(((x - 1.0).abs() < 0.5).all()) for x in per_template)
        assert all(((x - x[0]).abs() < 0.5).all() for x in per_template)
    assert 0.3 < unknown / (20 * len(inputs["template_text"])) < 0.6


def test_a_superposed_incident_keeps_its_report(known: list[Example]) -> None:
    torch.manual_seed(0)
    inputs = {name: torch.from_numpy(value) for name, value in network_inputs([known[0].encodings[0]]).items()}
    inputs["report"][:] = 1.0
    every = torch.zeros(len(inputs["features"]), dtype=torch.int64)
    silenced = {
        both: sum(not jitter(inputs, every, torch.tensor([both]))["report"].any() for _ in range(60)) for both in (True, False)
    }
    assert silenced[True] == 0
    assert silenced[False] > 0
