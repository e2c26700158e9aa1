"""An evaluation's page says the figures, and says of what they are."""

from __future__ import annotations

from revelio.training.evaluation.markdown import page
from revelio.training.evaluation.results import ControlFigures, Evaluation, FaultFigures, KindFigures
from revelio.training.evaluation.runs import RunsCurve

FAULTS = FaultFigures(9, 30, 0, 0, 0.75, 0.9, 0.95, 0.8, 2.0, 0.85, 0.97, 0.8, 0.9, 0.77, 0.04, 0.02, 0.1, {"top1": (0.6, 0.9)})


def test_each_split_has_a_table_with_the_model_first() -> None:
    found = Evaluation(
        "revelio-1",
        "three_apps@2",
        {"repeat": FAULTS, "no_fault": ControlFigures(4, 8, 0, 0.99, 0.9, {"auroc": (0.97, 1.0)})},
        baselines={"bm25": {"repeat": FAULTS}},
        runs={"repeat": RunsCurve((0.7, 0.8), (0.7, 0.85))},
        kinds=(KindFigures("repeat", "delay", 1, 0.0, 1.0, "tcpdump.flows"), KindFigures("repeat", "loss", 1, 1.0, 1.0, "")),
    )
    text = page(found.json())
    assert "`revelio-1` on `three_apps@2`" in text
    assert "## repeat: 9 incidents, 30 reports" in text
    assert text.index("| **bundled model** | 0.750 | 0.60–0.90 | 0.900") < text.index("| bm25 | 0.750")
    assert "| **bundled model** | 0.990 | 0.97–1.00 |" in text
    assert "| repeat | re-ranked | 0.700 | 0.850 |" in text
    assert "| repeat | delay | 1 | 0.000 | 1.000 | tcpdump.flows |" in text
    assert "| repeat | loss" not in text
