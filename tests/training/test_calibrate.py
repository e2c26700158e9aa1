"""An abstain score that means what it says."""

from __future__ import annotations

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.encoders.query import EncodedIncident, QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.ranker.scoring import Calibration, Logits, rank
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.training.calibrate import Prediction, calibrate
from revelio.training.examples import examples


@pytest.fixture(scope="module")
def encoded(catalog: Catalog, incidents: list[LabelledIncident]) -> EncodedIncident:
    text = HashingEncoder()
    return examples(incidents[:1], catalog, text, QueryEncoder(text, {}, {}))[0].encodings[0]


def prediction(encoded: EncodedIncident, abstain: float, *, faulty: bool) -> Prediction:
    tool, template, value = (np.zeros(n, np.float32) for n in (len(encoded.tools), len(encoded.templates), len(encoded.queries)))
    return Prediction(encoded, Logits(tool, template, value, abstain), np.zeros(len(encoded.queries), np.float32), faulty)


def test_an_abstain_logit_that_is_too_sure_by_half_is_taken_back(encoded: EncodedIncident) -> None:
    lots = np.random.default_rng(0)
    told = lots.normal(0.0, 4.0, 2000)  # a logit twice as large as what really happens warrants
    calm = lots.random(2000) < 1.0 / (1.0 + np.exp(-told / 2.0))
    found = calibrate([prediction(encoded, t, faulty=not c) for t, c in zip(told.tolist(), calm.tolist(), strict=True)])
    assert found.abstain_slope == pytest.approx(0.5, abs=0.06)
    assert found.abstain_offset == pytest.approx(0.0, abs=0.15)
    assert rank(encoded, prediction(encoded, 2.0, faulty=True).logits, found).abstain == pytest.approx(0.73, abs=0.04)


def test_without_both_kinds_of_incidents_nothing_is_changed(encoded: EncodedIncident) -> None:
    assert calibrate([]) == Calibration()
    assert calibrate([prediction(encoded, 3.0, faulty=True)]) == Calibration()
