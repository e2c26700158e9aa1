"""Incidents end to end: each is told what it would be told alone."""

from __future__ import annotations

from typing import Any

import pytest

from revelio.catalog import Catalog
from revelio.encoders.query import COMPONENT, FEATURES, QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.ranker.session import INPUTS
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.training.batch import Example, batch
from revelio.training.examples import examples

torch = pytest.importorskip("torch")

from revelio.training.losses import log_probabilities  # noqa: E402
from revelio.training.network import Network  # noqa: E402


@pytest.fixture(scope="module")
def known(catalog: Catalog, incidents: list[LabelledIncident]) -> list[Example]:
    text = HashingEncoder(64)
    return examples(incidents[:4], catalog, text, QueryEncoder(text, {}, {}))


@pytest.mark.parametrize("factors", [1, 2, 3])
def test_a_batch_tells_each_incident_what_it_would_be_told_alone(known: list[Example], factors: int) -> None:
    torch.manual_seed(1)
    network = Network(64, len(FEATURES), len(COMPONENT), factors=factors).eval()

    def told(members: list[Example]) -> tuple[Any, Any]:
        inputs = {name: torch.from_numpy(value) for name, value in batch(members, [0] * len(members)).inputs.items()}
        tool, template, value, abstain = network(*(inputs[name] for name in INPUTS))
        return log_probabilities(tool, template, value, inputs), abstain

    with torch.no_grad():
        together, calm = told(known)
        alone = [told([one]) for one in known]
    torch.testing.assert_close(together, torch.cat([joint for joint, _ in alone]), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(calm, torch.cat([abstain for _, abstain in alone]), atol=1e-5, rtol=1e-4)
    for joint, _ in alone:
        assert float(joint.exp().sum()) == pytest.approx(1.0, abs=1e-4)


def test_a_batch_knows_which_incident_each_query_is_of(known: list[Example]) -> None:
    chunk = batch(known, [0] * len(known))
    assert [int((chunk.incident == i).sum()) for i in range(len(known))] == [len(e.grades) for e in known]
    assert len(chunk.grades) == len(chunk.inputs["features"]) == len(chunk.incident)
