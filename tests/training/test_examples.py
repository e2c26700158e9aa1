"""What is learnt of templates before there is an example."""

from __future__ import annotations

from dataclasses import replace

import pytest

from revelio.catalog import Catalog
from revelio.encoders.report import HashingEncoder
from revelio.training.evaluation.transfer import without_reads
from revelio.types import Reading
from tests.ranker.conftest import labelled

pytest.importorskip("torch")

from revelio.training.examples import learn_reads

TEXT = HashingEncoder(256)


def test_a_silent_template_reads_what_is_called_like_it_in_any_incident(catalog: Catalog) -> None:
    runs = [labelled(1, "none", "alpha"), labelled(2, "stop", "beta")]
    learned = learn_reads(runs, without_reads(catalog), TEXT)
    assert Reading("series", "cpu", "both") in learned["meters.cpu"]
    assert all(learned.values()), "one that reads nothing is not there"
    record = runs[0].record
    quiet = replace(runs[0], record=replace(record, evidence=replace(record.evidence, series=())))
    assert learn_reads([quiet, runs[0]], without_reads(catalog), TEXT)["meters.cpu"] == learned["meters.cpu"]
    assert "meters.cpu" not in learn_reads([quiet], without_reads(catalog), TEXT)


def test_nothing_is_learnt_of_templates_that_say_what_they_read(catalog: Catalog) -> None:
    assert learn_reads([labelled(1, "none", "alpha")], catalog, TEXT) == {}
