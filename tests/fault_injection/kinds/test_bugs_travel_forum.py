"""The bugs of travel and the forum fit their sources as they are today, read like ordinary lines, and reach far enough."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from fault_injection.apps import app_named
from fault_injection.kinds.code_bugs import INPUTS, Bug, bugs
from tests.fault_injection.traces import telling_words

APPS = ("forum", "travel")
SUSPICIOUS = re.compile(
    r"\b(bug\w*|broke\w*|break\w*|fail\w*|wrong\w*|leak\w*|slow\w*|corrupt\w*|crash\w*|mutat\w*|mistake\w*|raise\w*|oops|hack\w*"
    r"|fixme|todo|stale|evil|bogus|fake|dummy|test)\b",
    re.IGNORECASE,
)
"""Words that nobody would write into the lines that these bugs add."""
ONLY_BY_A_QUEUE = {"notifier"}
"""Services in whose pages no user of the corpus looks."""


@cache
def text(file: str) -> str:
    return (Path("testbed") / file.removeprefix("/app/")).read_text(encoding="utf-8")


def source(bug: Bug) -> str:
    return text(bug.file)


@cache
def tree(source: str) -> str:
    return ast.dump(ast.parse(source))


def named(app: str) -> dict[str, Bug]:
    """Every bug of an application, by a name to find it by."""
    return {f"{app}-{b.kind}-{b.service}-{b.strength}-{n}": b for n, b in enumerate(bugs(app))}


def added(bug: Bug) -> str:
    """The words that the patched source has more of than the source."""
    new, old = (Counter(re.findall(r"[A-Za-z]+", text)) for text in (bug.patch(source(bug)), source(bug)))
    return " ".join(new - old)


@cache
def imports(path: Path) -> tuple[Path, ...]:
    """The application's own files that a file imports."""
    found: list[Path] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("apps."):
            below = Path("testbed", *node.module.split("."))
            modules = [below.with_suffix(".py"), *((below / name.name).with_suffix(".py") for name in node.names)]
            found += [module for module in modules if module.is_file()]
    return tuple(found)


@cache
def run_by(app: str, service: str) -> frozenset[Path]:
    """Every file of the application that a service loads."""
    todo = [Path("testbed") / app_named(app, Path("unused")).main_file(service).removeprefix("/app/")]
    seen: set[Path] = set()
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            todo += imports(path)
    return frozenset(seen)


@pytest.mark.parametrize("app", APPS)
def test_what_a_bug_replaces_is_there_once(app: str) -> None:
    assert [name for name, bug in named(app).items() if any(source(bug).count(find) != 1 for find, _ in bug.edits)] == []


@pytest.mark.parametrize("app", APPS)
def test_the_patched_file_compiles_and_differs(app: str) -> None:
    same = []
    for name, bug in named(app).items():
        patched = bug.patch(source(bug))
        compile(patched, f"{name}: {bug.file}", "exec", dont_inherit=True)
        if tree(patched) == tree(source(bug)):
            same.append(name)
    assert same == []


@pytest.mark.parametrize("app", APPS)
def test_the_patched_file_reads_like_any_other(app: str) -> None:
    odd = {}
    for name, bug in named(app).items():
        new = added(bug)
        suspicious = telling_words(new) | set(SUSPICIOUS.findall(new))
        suspicious |= {line for line in bug.patch(source(bug)).splitlines() if len(line) > 130}
        if suspicious:
            odd[name] = suspicious
    assert odd == {}


@pytest.mark.parametrize("app", APPS)
def test_a_bug_is_in_a_file_that_its_service_runs(app: str) -> None:
    assert [
        name
        for name, bug in named(app).items()
        if Path("testbed") / bug.file.removeprefix("/app/") not in run_by(app, bug.service)
    ] == []


@pytest.mark.parametrize("app", APPS)
def test_each_service_that_users_notice_raises_in_two_functions_or_more(app: str) -> None:
    raising = [bug for bug in bugs(app) if bug.kind == "exception_on_input"]
    for service in set(app_named(app, Path("unused")).services) - ONLY_BY_A_QUEUE:
        for strength in INPUTS:
            assert len({b.function for b in raising if (b.service, b.strength) == (service, strength)}) >= 2, (service, strength)


@pytest.mark.parametrize("app", APPS)
def test_what_raises_does_so_with_pythons_own_words(app: str) -> None:
    for name, bug in named(app).items():
        if bug.kind == "exception_on_input":
            statements = ast.parse(f"async def function():\n    {bug.statements.strip()}")
            assert not any(isinstance(node, (ast.Raise, ast.Assert)) for node in ast.walk(statements)), name


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
