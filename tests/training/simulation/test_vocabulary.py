"""The vocabulary names only what there is."""

from __future__ import annotations

import random

from revelio.catalog import bundled_catalog
from revelio.training.simulation.dialect import WORDINGS, bundled_words
from revelio.training.simulation.faults import mechanisms
from revelio.training.simulation.system import draw_system
from revelio.training.simulation.vocabulary import trades, wording


def test_every_figure_of_a_mechanism_is_measured_by_some_tool() -> None:
    known = {m.name for tool in bundled_catalog().tools for m in tool.metrics}
    assert {f for m in mechanisms().values() for f in m.figures} <= known


def test_there_is_a_frame_for_every_symptom_that_users_feel() -> None:
    assert {s for m in mechanisms().values() for s in m.felt} <= set(wording()["frames"])


def test_every_mechanism_shows_its_cause_somewhere() -> None:
    for m in mechanisms().values():
        grades = [*(e.grade for e in m.figures.values()), *(c.grade for c in m.changes), *(x.grade for x in m.logs)]
        assert max([*grades, *m.tells.values()]) == 3, m.name


def test_templates_in_other_words_keep_their_reads_and_have_ids_of_their_own() -> None:
    plain = [(t.blanks, t.reads) for tool in bundled_words(0) for t in tool.templates]
    for number in range(1, WORDINGS + 1):
        found = [t for tool in bundled_words(number) for t in tool.templates]
        assert len({t.id for t in found}) == len(found)
        assert all(pair in [(t.blanks, t.reads) for t in found] for pair in plain)


def test_systems_have_no_circles_and_every_component_is_used() -> None:
    for seed in range(20):
        system = draw_system(random.Random(seed), "x")
        called = {b for _, b in system.edges} | {v.component for v in system.visits}
        assert called == set(system.by_name)
        assert 5 <= len(system.components) <= 80


def test_features_of_every_trade_have_words_for_users_and_for_services() -> None:
    for some in trades().values():
        assert all(w.said and w.service and w.paths for w in some)
