"""A whole evaluation on a made dataset."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from revelio.catalog import Catalog
from revelio.errors import DatasetError
from revelio.systems.incidents.dataset import Dataset, LabelledIncident, open_dataset
from revelio.training.evaluation.method import Example
from revelio.training.evaluation.page import page
from revelio.training.evaluation.results import ControlFigures, FaultFigures
from revelio.training.evaluation.runner import case, evaluate
from revelio.training.evaluation.tables import tables
from tests.training.evaluation.made import Oracle, catalog, dataset, record

TEXTS = (("w1", "written for training"), ("w6", "told by six"), ("w13", "told by thirteen"))
CPU_OF_CART = (("meter.cpu", "cart"),)


@pytest.fixture
def known(tmp_path: Path) -> Catalog:
    return catalog(tmp_path)


@pytest.fixture
def made(tmp_path: Path) -> Dataset:
    folder = dataset(
        tmp_path / "made",
        record("a", "repeat", "cart", TEXTS),
        record("b", "repeat", "orders", TEXTS),
        record("unproven", "repeat", "cart", TEXTS, proven=False),
        record("c", "new_location", "cart", TEXTS[:1]),
        record("calm", "no_fault", "", TEXTS),
        record("t", "train", "payment", TEXTS),
    )
    return open_dataset(folder)


def test_an_incident_counts_once_and_one_without_a_proven_cause_is_left_out(made: Dataset, known: Catalog) -> None:
    found = evaluate(made, known, Oracle(*CPU_OF_CART))
    repeat = found.splits["repeat"]
    assert isinstance(repeat, FaultFigures)
    assert (repeat.incidents, repeat.examples, repeat.left_out, repeat.failed) == (2, 4, 1, 0)
    assert (repeat.top1, repeat.template_top1, repeat.place_top1) == (0.5, 1.0, 0.5)
    assert set(found.splits) == {"repeat", "new_location", "no_fault"}


def test_the_confidence_is_the_probability_of_the_first_query(made: Dataset, known: Catalog) -> None:
    oracle = Oracle(*CPU_OF_CART)
    by_incident = [
        [np.exp(max(oracle.score(e.incident, e.queries).log_probabilities)) for e in one.examples]
        for one in (case(i, known) for i in made.read("repeat"))
        if one.findable
    ]
    repeat = evaluate(made, known, oracle).splits["repeat"]
    assert isinstance(repeat, FaultFigures)
    assert repeat.confidence == pytest.approx(np.mean([np.mean(one) for one in by_incident]))
    assert 0.0 < repeat.confidence < 1.0


def test_runs_are_told_by_split_and_over_the_incidents_of_all(made: Dataset, known: Catalog) -> None:
    runs = evaluate(made, known, Oracle(*CPU_OF_CART), runs=True).runs
    assert set(runs) == {"repeat", "new_location", "all"}
    assert (runs["repeat"].fixed[0], runs["new_location"].fixed[0]) == (0.5, 1.0)
    assert runs["all"].fixed[0] == pytest.approx(2 / 3), "two incidents and one"
    assert set(evaluate(made, known, Oracle(*CPU_OF_CART), splits=("repeat",), runs=True).runs) == {"repeat"}


def test_controls_are_told_from_faults_by_the_abstain_score(made: Dataset, known: Catalog) -> None:
    controls = evaluate(made, known, Oracle(*CPU_OF_CART)).splits["no_fault"]
    assert isinstance(controls, ControlFigures)
    assert (controls.auroc, controls.abstained, controls.incidents) == (1.0, 1.0, 1)


def test_without_faults_to_compare_with_there_is_no_auroc(made: Dataset, known: Catalog) -> None:
    controls = evaluate(made, known, Oracle(), splits=("no_fault",)).splits["no_fault"]
    assert isinstance(controls, ControlFigures)
    assert controls.auroc is None


def test_what_was_found_so_far_is_told_after_each_method(made: Dataset, known: Catalog) -> None:
    told: list[list[str]] = []
    other, third = Oracle(), Oracle()
    other.name, third.name = "other", "third"
    found = evaluate(made, known, Oracle(*CPU_OF_CART), ablations=(other, third), seen=lambda e: told.append(list(e.by_method)))
    assert [len(methods) for methods in told] == [1, 2, 3]
    assert told[-1] == list(found.by_method)


def test_a_method_that_raises_scores_a_miss_and_is_counted(made: Dataset, known: Catalog) -> None:
    found = evaluate(made, known, Oracle(*CPU_OF_CART, raises=frozenset({"a"})))
    repeat = found.splits["repeat"]
    assert isinstance(repeat, FaultFigures)
    assert (repeat.top1, repeat.failed, found.failed) == (0.0, 2, 2)
    assert found.failures[0].error == "RuntimeError: cannot"


def test_test_splits_are_told_by_test_writers_and_training_by_the_others() -> None:
    def texts(split: str, writers: tuple[tuple[str, str], ...] = TEXTS) -> list[str]:
        labelled = LabelledIncident(record("x", split, "cart", writers), split)
        return [e.incident.report for e in case(labelled, Catalog(())).examples]

    assert texts("repeat") == ["told by six", "told by thirteen"]
    assert texts("train") == ["written for training"]
    assert texts("repeat", TEXTS[:1]) == ["written for training"]
    assert texts("repeat", ()) == [""]


def test_an_incident_on_which_a_method_raised_has_details_without_a_rank(made: Dataset, known: Catalog) -> None:
    found = evaluate(made, known, Oracle(*CPU_OF_CART, raises=frozenset({"a"})), splits=("repeat",)).details
    failed = [one for one in found if one.id == "a"]
    assert [(one.writer, one.rank, one.first, one.probability, one.failed) for one in failed] == [
        ("w6", None, None, None, True),
        ("w13", None, None, None, True),
    ]
    assert all(one.rank is not None and not one.failed for one in found if one.id == "b")


def test_baselines_are_fitted_on_the_training_split_alone(made: Dataset, known: Catalog) -> None:
    seen: list[str] = []

    class Spy(Oracle):
        def fit(self, examples: Sequence[Example]) -> None:
            seen.extend(e.incident.id for e in examples)

    spy = Spy(*CPU_OF_CART)
    spy.name = "spy"
    found = evaluate(made, known, Oracle(), baselines=[spy])
    assert seen == ["t"]
    assert found.baselines["spy"]["repeat"].examples == 4


def test_the_json_has_the_promised_shape(made: Dataset, known: Catalog) -> None:
    found = json.loads(json.dumps(evaluate(made, known, Oracle(*CPU_OF_CART)).json(), allow_nan=False))
    assert {"model", "dataset", "splits", "baselines", "ablations", "failed"} <= found.keys()
    promised = "incidents examples top1 top3 top5 mrr average_rank accepted_top1 accepted_top3 template_top1 place_top1"
    promised += " confidence ece ece_chance ci95"
    assert set(promised.split()) <= found["splits"]["repeat"].keys()
    low, high = found["splits"]["repeat"]["ci95"]["top1"]
    assert 0.0 <= low <= 0.5 <= high <= 1.0
    assert found["splits"]["no_fault"]["auroc"] == 1.0


def test_no_incident_of_the_wanted_splits_is_an_error(made: Dataset, known: Catalog) -> None:
    with pytest.raises(DatasetError, match="new_app"):
        evaluate(made, known, Oracle(), splits=("new_app",))


def test_tables_and_page_show_every_method_and_escape_its_name(made: Dataset, known: Catalog) -> None:
    method = Oracle(*CPU_OF_CART, raises=frozenset({"c"}))
    method.name = "<script>x</script>"
    found = evaluate(made, known, method)
    assert [str(t.title).split(":")[0] for t in tables(found)] == ["repeat", "new_location", "no_fault"]
    html = page(found)
    assert "<script>" not in html
    assert "&lt;script&gt;x&lt;/script&gt;" in html
    assert "RuntimeError: cannot" in html
