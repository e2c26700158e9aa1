"""The bugs of travel and the forum fit their sources as they are today, read like ordinary lines, and reach far enough."""

from __future__ import annotations

import ast
import difflib
import re
from collections import Counter
from pathlib import Path

import pytest

from fault_injection.apps import app_named
from fault_injection.kinds.code_bugs import INPUTS, Bug, bugs
from tests.fault_injection.traces import telling_words

APPS = ("forum", "travel")
BUGS = [(app, number) for app in APPS for number in range(len(bugs(app)))]
SUSPICIOUS = re.compile(
    r"\b(bug\w*|broke\w*|break\w*|fail\w*|wrong\w*|leak\w*|slow\w*|corrupt\w*|crash\w*|mutat\w*|mistake\w*|raise\w*|oops|hack\w*"
    r"|fixme|todo|stale|evil|bogus|fake|dummy|test)\b",
    re.IGNORECASE,
)
"""Words that nobody would write into the lines that these bugs add."""
ONLY_BY_A_QUEUE = {"notifier"}
"""Services in whose pages no user of the corpus looks."""


def bug_of(form: tuple[str, int]) -> Bug:
    return bugs(form[0])[form[1]]


def source(bug: Bug) -> str:
    return (Path("testbed") / bug.file.removeprefix("/app/")).read_text(encoding="utf-8")


def named(form: tuple[str, int]) -> str:
    bug = bug_of(form)
    return f"{form[0]}-{bug.kind}-{bug.service}-{bug.strength}-{form[1]}"


def added(bug: Bug) -> str:
    """The words that the patched source has more of than the source."""
    lines = difflib.ndiff(source(bug).splitlines(), bug.patch(source(bug)).splitlines())
    gone, new = Counter[str](), Counter[str]()
    for line in lines:
        if line[:2] in ("- ", "+ "):
            (gone if line[0] == "-" else new).update(re.findall(r"[A-Za-z]+", line[2:]))
    return " ".join(new - gone)


@pytest.mark.parametrize("form", BUGS, ids=named)
def test_what_a_bug_replaces_is_there_once(form: tuple[str, int]) -> None:
    bug = bug_of(form)
    assert [source(bug).count(find) for find, _ in bug.edits] == [1] * len(bug.edits)


@pytest.mark.parametrize("form", BUGS, ids=named)
def test_the_patched_file_compiles_and_differs(form: tuple[str, int]) -> None:
    bug = bug_of(form)
    patched = bug.patch(source(bug))
    compile(patched, bug.file, "exec", dont_inherit=True)
    assert ast.dump(ast.parse(patched)) != ast.dump(ast.parse(source(bug)))


@pytest.mark.parametrize("form", BUGS, ids=named)
def test_the_patched_file_reads_like_any_other(form: tuple[str, int]) -> None:
    bug = bug_of(form)
    new = added(bug)
    assert telling_words(new) == set()
    assert SUSPICIOUS.findall(new) == []
    assert max(map(len, bug.patch(source(bug)).splitlines())) <= 130


@pytest.mark.parametrize("form", BUGS, ids=named)
def test_a_bug_is_in_a_file_that_its_service_runs(form: tuple[str, int]) -> None:
    app, bug = form[0], bug_of(form)
    start = Path("testbed") / app_named(app, Path("unused")).main_file(bug.service).removeprefix("/app/")
    seen: set[Path] = set()
    todo = [start]
    while todo:
        path = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("apps."):
                below = Path("testbed", *node.module.split("."))
                modules = [below.with_suffix(".py"), *((below / name.name).with_suffix(".py") for name in node.names)]
                todo += [module for module in modules if module.is_file()]
    assert Path("testbed") / bug.file.removeprefix("/app/") in seen


@pytest.mark.parametrize("app", APPS)
def test_each_service_that_users_notice_raises_in_two_functions_or_more(app: str) -> None:
    raising = [bug for bug in bugs(app) if bug.kind == "exception_on_input"]
    for service in set(app_named(app, Path("unused")).services) - ONLY_BY_A_QUEUE:
        for strength in INPUTS:
            assert len({b.function for b in raising if (b.service, b.strength) == (service, strength)}) >= 2, (service, strength)


@pytest.mark.parametrize("form", [form for form in BUGS if bug_of(form).kind == "exception_on_input"], ids=named)
def test_what_raises_does_so_with_pythons_own_words(form: tuple[str, int]) -> None:
    tree = ast.parse(f"async def function():\n    {bug_of(form).statements.strip()}")
    assert not any(isinstance(node, (ast.Raise, ast.Assert)) for node in ast.walk(tree))


@pytest.mark.parametrize(
    "kind",
    [
        "negated_condition",
        "changed_signature",
        "n_plus_one",
        "stale_cache",
        "wrong_rounding",
        "slow_serialisation",
        "lost_write",
        "memory_leak",
    ],
)
def test_each_kind_has_three_places_or_more_in_travel(kind: str) -> None:
    assert len({bug.service for bug in bugs("travel") if bug.kind == kind}) >= 3


def test_the_forums_fat_tier_has_each_kind_in_several_files() -> None:
    for kind in ("negated_condition", "changed_signature", "exception_on_input", "stale_cache", "wrong_rounding", "lost_write"):
        assert len({b.file for b in bugs("forum") if (b.kind, b.service) == (kind, "web")}) >= 2, kind


@pytest.mark.parametrize("app", APPS)
def test_what_keeps_a_queue_waiting_is_in_those_who_work_it_off(app: str) -> None:
    workers = app_named(app, Path("unused")).workers
    places = {bug.service for bug in bugs(app) if bug.kind == "slow_consumer"}
    assert places == set(workers) - ONLY_BY_A_QUEUE
