"""A store that does not answer becomes a candidate that says so; everything else of it stays unasked."""

from __future__ import annotations

from revelio.catalog import bundled_catalog
from revelio.catalog.candidates import candidates, inventory, not_asked
from revelio.errors import SourceError
from revelio.settings import SystemSettings
from revelio.systems.system import System
from revelio.tools.base import Scope
from revelio.types import Window
from tests.systems.test_system import FakeTool

SCOPE = Scope("shop", Window(970.0, 1000.0), Window(910.0, 970.0))


def broken() -> None:
    raise SourceError("postgres", "connection refused at 127.0.0.1:5432")


def shop(store: FakeTool) -> System:
    return System("shop", SystemSettings(), bundled_catalog(), {"postgres": store, "redis": FakeTool("redis")})


def test_a_store_that_does_not_answer_is_asked_about_and_nothing_else_of_it() -> None:
    system = shop(FakeTool("postgres", does=broken))
    evidence = system.snapshot(SCOPE)
    asked = [q for q in candidates(system.catalog, inventory(evidence)) if q.template.tool == "postgres"]
    assert [q.title for q in asked] == ["Does PostgreSQL answer as postgres?"]
    assert [(c.entity.name, c.field) for c in evidence.changes] == [("postgres", "answers")]
    result = system.run(asked[0], evidence)
    assert (result.signal, result.error) == (1.0, None)
    assert "connection refused" in result.summary
    assert system.render(asked[0], evidence) == "SELECT 1 -- postgres"
    assert any(sentence.startswith("PostgreSQL does not answer") for sentence in not_asked(system.catalog, evidence))


def test_a_store_that_answers_is_not_asked_whether_it_does() -> None:
    system = shop(FakeTool("postgres"))
    evidence = system.snapshot(SCOPE)
    assert not [q for q in candidates(system.catalog, inventory(evidence)) if q.template.id.endswith(".reachable")]
    assert evidence.changes == ()
