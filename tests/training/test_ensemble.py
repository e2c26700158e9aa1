"""Networks that answer as one."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.encoders.query import FEATURES, QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.ranker.scoring import Calibration, rank
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.training.examples import examples

torch = pytest.importorskip("torch")

from revelio.encoders.query import COMPONENT  # noqa: E402
from revelio.training.calibrate import Prediction  # noqa: E402
from revelio.training.ensemble import Ensemble  # noqa: E402
from revelio.training.fit import predict  # noqa: E402
from revelio.training.network import Network  # noqa: E402


@pytest.mark.parametrize("factors", [1, 2, 3])
def test_a_query_is_as_probable_as_the_members_say_on_average(
    catalog: Catalog, incidents: list[LabelledIncident], factors: Literal[1, 2, 3]
) -> None:
    text = HashingEncoder()
    example = examples(incidents[:1], catalog, text, QueryEncoder(text, {}, {}))[0]
    torch.manual_seed(1)
    length = len(example.encodings[0].report)
    members = [Network(length, len(FEATURES), len(COMPONENT), factors=factors).eval() for _ in range(3)]
    for member in members:
        for weight in member.parameters():
            weight.data *= 3.0  # so that they differ in more than rounding

    def said(network: Network | Ensemble) -> Prediction:
        return predict(network, example, torch.device("cpu"))[0]

    def probability(prediction: Prediction) -> np.ndarray:
        return np.exp(rank(prediction.encoded, prediction.logits, Calibration()).log_probability)

    each, both = [said(m) for m in members], said(Ensemble(members).eval())
    assert np.ptp([probability(p) for p in each], axis=0).max() > 0.05
    np.testing.assert_allclose(probability(both), np.mean([probability(p) for p in each], axis=0), atol=1e-5)
    assert both.logits.abstain == pytest.approx(np.mean([p.logits.abstain for p in each]), abs=1e-4)


def test_a_committee_of_one_says_what_its_member_says(catalog: Catalog, incidents: list[LabelledIncident]) -> None:
    text = HashingEncoder()
    example = examples(incidents[:1], catalog, text, QueryEncoder(text, {}, {}))[0]
    member = Network(len(example.encodings[0].report), len(FEATURES), len(COMPONENT)).eval()
    alone, one = (predict(n, example, torch.device("cpu"))[0] for n in (member, Ensemble([member]).eval()))
    for name in ("log_tool", "log_template", "log_value"):
        here, there = (getattr(rank(p.encoded, p.logits, Calibration()), name) for p in (alone, one))
        np.testing.assert_allclose(here, there, atol=1e-5)
