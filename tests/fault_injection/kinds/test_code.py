"""Every bug can be put into the source as it is today, reads like an ordinary line, and is rolled out and taken back whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import fault_injection.inject as inject_module
from fault_injection.apps import app_named
from fault_injection.engine import StoredFile
from fault_injection.journal import Journal
from fault_injection.kinds import code, code_bugs, kind_named, kinds, validate
from fault_injection.kinds.code import BadVersion, ExceptionOnInput
from fault_injection.kinds.code_bugs import FOLDER, INPUTS, Bug, bugs, bugs_of
from fault_injection.mechanisms.deploy import VERSION
from fault_injection.spec import Fault
from fault_injection.steps import perform, revert
from revelio.errors import FaultError
from testbed.users.walks import walk_of
from tests.fault_injection.fake_engine import FakeEngine, Killed
from tests.fault_injection.traces import telling_words

APP = app_named("shop", Path("unused"))
APPS = sorted(path.stem for path in FOLDER.glob("*.yaml"))
WRITTEN = sorted({(app, bug.kind) for app in APPS for bug in bugs(app)})


def source(bug: Bug) -> str:
    return (Path("testbed") / bug.file.removeprefix("/app/")).read_text()


@pytest.mark.parametrize(("app", "kind"), WRITTEN)
def test_a_bug_fits_the_source_and_gives_nothing_away(app: str, kind: str) -> None:
    for bug in bugs_of(app, kind):
        before = source(bug)
        after = bug.patch(before)
        assert after != before, bug
        written = [bug.statements, *(put for _, put in bug.edits)]
        assert telling_words("\n".join(written)) == set(), bug
        assert max(map(len, after.splitlines())) <= 140, bug


@pytest.mark.parametrize(("app", "kind"), WRITTEN)
def test_a_bug_belongs_to_a_kind_a_place_a_strength_and_a_feature_that_there_are(app: str, kind: str) -> None:
    target, features = app_named(app, Path("unused")), walk_of(app).features
    for bug in bugs_of(app, kind):
        validate(target, Fault(bug.kind, bug.service, bug.strength))
        assert bug.feature == "" or bug.feature in features, bug


def test_statements_fail_with_pythons_own_words() -> None:
    for bug in bugs_of("shop", "exception_on_input"):
        before = source(bug)
        added = len(bug.patch(before).splitlines()) - len(before.splitlines())
        assert added == len(bug.statements.strip().splitlines()), bug
        assert "raise" not in bug.statements, bug


def test_each_service_has_two_bugs_or_more_in_different_functions() -> None:
    written = bugs_of("shop", "exception_on_input")
    for service in APP.services:
        for strength in INPUTS:
            assert len({bug.function for bug in written if (bug.service, bug.strength) == (service, strength)}) >= 2


def test_no_bug_is_written_twice() -> None:
    for app in APPS:
        forms = Counter((b.kind, b.service, b.strength, b.file, b.function, b.edits) for b in bugs(app))
        assert forms.most_common(1)[0][1] == 1


@pytest.fixture
def engine() -> FakeEngine:
    engine = FakeEngine(*APP.places)
    for bug in bugs("shop"):
        engine.files[bug.service, bug.file] = StoredFile(source(bug).encode(), 0o644, 0, 0, 1.0)
    for service in APP.services:
        engine.files[service, VERSION] = StoredFile(b"1.4.2\n", 0o644, 0, 0, 1.0)
    return engine


def a_fault_of(kind: str) -> Fault:
    bug = bugs_of("shop", kind)[0]
    return Fault(kind, bug.service, bug.strength)


@pytest.mark.parametrize("kind", [k.name for k in kinds() if isinstance(k, code.BadVersion) and k.places(APP)])
def test_a_rollout_changes_file_and_version_and_undoing_brings_both_back(kind: str, engine: FakeEngine, tmp_path: Path) -> None:
    fault = a_fault_of(kind)
    before = dict(engine.files)
    change = kind_named(kind).change(APP, fault, engine)
    assert engine.files == before
    for step in change.do:
        perform(step, APP, engine, Journal(tmp_path), "a1")
    assert engine.files[fault.place, VERSION].content == b"1.4.3\n"
    file = bugs_of("shop", kind)[0].file
    assert engine.files[fault.place, file] != before[fault.place, file]
    for step in change.undo:
        assert revert(step, APP, engine, Journal(tmp_path), "a1") == ""
    assert engine.files == before
    assert engine.restart_count == 2


@pytest.mark.parametrize("acts", [0, 1])
@pytest.mark.parametrize("kind", [k.name for k in kinds() if isinstance(k, code.BadVersion) and k.places(APP)])
def test_a_rollout_that_is_killed_on_the_way_is_taken_back_by_its_journal(
    kind: str, acts: int, engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inject_module, "answers", lambda app, place, engine, seconds: 0.01)
    app, before = app_named("shop", tmp_path), dict(engine.files)
    engine.die_after = acts
    with monkeypatch.context() as dead, pytest.raises(Killed):
        dead.setattr(inject_module, "_undo_all", lambda *_: ())
        inject_module.inject(app, a_fault_of(kind), engine)
    assert engine.files != before
    engine.die_after = None
    (undone,) = inject_module.undo(app, engine)
    assert (undone.fault, engine.files) == (a_fault_of(kind), before)


def test_undoing_twice_restarts_once(engine: FakeEngine, tmp_path: Path) -> None:
    change = ExceptionOnInput().change(APP, Fault("exception_on_input", "cart", "all"), engine)
    for step in (*change.do, *change.undo, *change.undo):
        perform(step, APP, engine, Journal(tmp_path), "a1")
    assert engine.restart_count == 2


def test_the_variant_picks_among_the_bugs_of_a_strength(engine: FakeEngine) -> None:
    kind = ExceptionOnInput()
    picked = {kind.bug(APP, Fault(kind.name, "cart", "many", variant)).function for variant in range(4)}
    assert picked == {"Carts.view", "Carts.add"}
    change = kind.change(APP, Fault(kind.name, "cart", "many", 1), engine)
    assert dict(change.parameters)["file"] == "/app/apps/shop/cart.py"


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


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of an application's bugs, in a folder of its own."""
    monkeypatch.setattr(code_bugs, "FOLDER", tmp_path)
    code_bugs.bugs.cache_clear()
    yield tmp_path / "shop.yaml"
    code_bugs.bugs.cache_clear()


def test_a_strength_that_was_not_written_for_a_place_is_refused_with_those_that_were(written: Path) -> None:
    written.write_text("- {kind: lost_write, service: cart, file: /app/x.py, strength: often, find: a, with: b}\n")
    kind: BadVersion = code.LostWrite()
    assert kind.places(APP) == ("cart",)
    with pytest.raises(FaultError, match=r"lost_write at cart has no strength 'always'; possible: often$"):
        kind.validate(APP, Fault("lost_write", "cart", "always"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {kind: lost_write, service: cart, file: x, strength: often, find: a}", "with\n  Field required"),
        ("- {kind: lost_write, service: cart, file: x, strength: often, find: '', with: b}", "at least 1 character"),
        ("- {kind: lost_write, service: cart, file: x, function: f, all: b}", "Input should be 'exception_on_input'"),
        ("- [", "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused(written: Path, text: str, message: str) -> None:
    written.write_text(text)
    with pytest.raises(FaultError, match=message):
        bugs("shop")


def test_an_application_without_a_file_has_no_bugs(written: Path) -> None:
    assert bugs("shop") == ()
    assert not written.exists()
