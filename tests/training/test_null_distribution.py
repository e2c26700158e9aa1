"""What is usual is learned from incidents with other causes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from revelio.catalog import Catalog
from revelio.encoders.query import QueryEncoder
from revelio.encoders.report import HashingEncoder
from revelio.training.batch import Example
from revelio.training.examples import examples
from revelio.training.null_distribution import against_others, leave_one_out, nulls
from tests.ranker.conftest import labelled


@pytest.fixture
def known(catalog: Catalog) -> list[Example]:
    """Eleven incidents in which a processor is busy and one with an error of its own."""
    text = HashingEncoder(64)
    incidents = [labelled(i, "hog", "alpha") for i in range(11)] + [labelled(11, "bug", "alpha")]
    return examples(incidents, catalog, text, QueryEncoder(text, {}, {}))


def rarity(example: Example, template: str) -> float:
    encoded = example.encodings[0]
    here = [encoded.templates[t].id == template for t in encoded.template_of]
    return float(encoded.feature("rarity")[here].max())


def test_only_incidents_that_a_template_does_not_explain_say_what_is_usual_for_it(known: list[Example]) -> None:
    usual = nulls(known).templates
    assert (usual["meters.cpu"].incidents, usual["journal.errors"].incidents) == (1, 11)
    assert usual["journal.errors"].readings == ()


def test_an_incident_is_seen_against_all_others_and_not_against_itself(known: list[Example]) -> None:
    found = leave_one_out(known)
    assert rarity(found[-1], "journal.errors") > 0.5
    alone = leave_one_out(known[-1:])
    assert rarity(alone[0], "journal.errors") == 0.0


def test_the_examples_themselves_stay_as_they_are(known: list[Example]) -> None:
    leave_one_out(known)
    assert rarity(known[-1], "journal.errors") == 0.0


def test_a_superposed_incident_is_seen_against_neither_of_its_parts(known: list[Example]) -> None:
    bug = known[-1]
    superposed = replace(bug, id="both", parts=(known[0].id, bug.id))
    (alone,) = against_others([superposed], [known[0], bug])
    (found,) = against_others([superposed], known)
    assert rarity(alone, "journal.errors") == 0.0
    assert rarity(found, "journal.errors") > 0.5
