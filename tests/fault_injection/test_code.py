"""Every bug can be put into the source as it is today, and reads like an ordinary line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fault_injection.apps import app_named
from fault_injection.deploy import VERSION
from fault_injection.engine import StoredFile
from fault_injection.journal import Journal
from fault_injection.kinds.code import STRENGTHS, Bug, ExceptionOnInput, bugs
from fault_injection.spec import Fault
from fault_injection.steps import perform, revert
from revelio.errors import FaultError
from tests.fault_injection.fake_engine import FakeEngine
from tests.fault_injection.traces import telling_words

APP = app_named("shop", Path("unused"))


def source(bug: Bug) -> str:
    return (Path("testbed") / bug.file.removeprefix("/app/")).read_text()


FORMS = [(bug, strength) for bug in bugs("shop") for strength, _ in bug.statements]


@pytest.mark.parametrize(("bug", "strength"), FORMS, ids=[f"{b.service}-{b.function}-{s}" for b, s in FORMS])
def test_a_bug_fits_the_source_and_gives_nothing_away(bug: Bug, strength: str) -> None:
    before = source(bug)
    after = bug.patch(before, strength)
    statements = dict(bug.statements)[strength]
    added = len(after.splitlines()) - len(before.splitlines())
    assert added == len(statements.strip().splitlines())
    assert telling_words(statements) == set()
    assert "raise" not in statements


def test_each_service_has_two_bugs_or_more_in_different_functions() -> None:
    for service in APP.services:
        for strength in STRENGTHS:
            assert len({bug.function for bug, form in FORMS if (bug.service, form) == (service, strength)}) >= 2


@pytest.fixture
def engine() -> FakeEngine:
    engine = FakeEngine(*APP.places)
    for bug in bugs("shop"):
        engine.files[bug.service, bug.file] = StoredFile(source(bug).encode(), 0o644, 0, 0, 1.0)
    for service in APP.services:
        engine.files[service, VERSION] = StoredFile(b"1.4.2\n", 0o644, 0, 0, 1.0)
    return engine


def test_a_rollout_changes_file_and_version_and_undoing_brings_both_back(engine: FakeEngine, tmp_path: Path) -> None:
    before = dict(engine.files)
    change = ExceptionOnInput().change(APP, Fault("exception_on_input", "cart", "many", 1), engine)
    assert engine.files == before
    for step in change.do:
        perform(step, APP, engine, Journal(tmp_path), "a1")
    assert engine.files["cart", VERSION].content == b"1.4.3\n"
    assert b"bundle" in engine.files["cart", "/app/apps/shop/cart.py"].content
    for step in change.undo:
        assert revert(step, APP, engine, Journal(tmp_path), "a1") == ""
    assert engine.files == before
    assert engine.restart_count == 2


def test_undoing_twice_restarts_once(engine: FakeEngine, tmp_path: Path) -> None:
    change = ExceptionOnInput().change(APP, Fault("exception_on_input", "cart", "all"), engine)
    for step in (*change.do, *change.undo, *change.undo):
        perform(step, APP, engine, Journal(tmp_path), "a1")
    assert engine.restart_count == 2


def test_a_source_without_the_function_is_refused_before_anything_is_done(engine: FakeEngine) -> None:
    key = ("cart", "/app/apps/shop/cart.py")
    engine.files[key] = replace(engine.files[key], content=b"def view(): pass\n")
    with pytest.raises(FaultError, match=r"has 0 functions named 'Carts\.view'"):
        ExceptionOnInput().change(APP, Fault("exception_on_input", "cart", "all"), engine)
    assert engine.acts == []


def test_a_version_that_does_not_end_in_a_number_is_refused(engine: FakeEngine) -> None:
    engine.files["cart", VERSION] = StoredFile(b"stable\n", 0o644, 0, 0, 1.0)
    with pytest.raises(FaultError, match="'stable', which does not end in a number"):
        ExceptionOnInput().change(APP, Fault("exception_on_input", "cart", "all"), engine)
