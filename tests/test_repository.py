"""What Makefile, documentation and configuration name is there, and versions agree."""

from __future__ import annotations

import json
import re
import subprocess
from fnmatch import fnmatch
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from revelio import __version__

ROOT = Path(__file__).parent.parent
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / ".github").rglob("*.*")),
    ROOT / "Makefile",
    ROOT / ".ci" / "run",
    ROOT / ".ci" / "setup",
    ROOT / ".ci" / "lock",
    ROOT / ".pre-commit-config.yaml",
]
HISTORY = {"CHANGELOG.md"}
"""Pages that tell of what was: files named there may be gone."""

TOPS = r"(?:revelio|webui|fault_injection|testbed|tests|docs|data|deploy|requirements|\.ci|\.github)"
NAMED_FILE = re.compile(rf"(?<![\w./:$-])({TOPS}/[\w./*-]*[\w*])")
EXAMPLES = {
    "docs/threat-model.md",
    "testbed/apps/shop/wishes.py",
    "revelio/tools/queues/tool.py",
    "revelio/robin",
    "revelio/shop",
    "revelio/forum",
    "revelio/travel",
}
"""Files that a page has its reader write, and names of container images, which look like paths."""

PLACEHOLDER = re.compile(r"(?<![A-Za-z])[A-Z]{3,}(?![A-Za-z]|\.md)")
"""What a reader fills in, as in testbed/apps/APP/compose.yml."""


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


@cache
def pages() -> frozenset[str]:
    """Pages may be named without their folder."""
    return frozenset(path.name for path in [*PAGES, *(ROOT / "revelio").rglob("*.md")])


@cache
def targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in HISTORY], ids=named)
def test_files_that_it_names_exist(page: Path) -> None:
    found = {name.rstrip(".") for name in NAMED_FILE.findall(page.read_text(encoding="utf-8"))}
    found |= set(re.findall(r"(?<![\w./*-])([\w-]+\.md)\b", page.read_text(encoding="utf-8")))
    there = {name for name in found if name in EXAMPLES or name in pages() or PLACEHOLDER.search(name) or any(ROOT.glob(name))}
    assert found - there == set()


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in HISTORY], ids=named)
def test_make_targets_and_modules_that_it_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = re.findall(r"(?:`|^ *(?:- )?|&& |step \"[^\"]*\" )make ([a-z-]+)", text, flags=re.MULTILINE)
    assert set(commands) <= targets()
    assert {m for m in re.findall(r"python -m ((?:revelio|testbed)[\w.]*)", text) if find_spec(m) is None} == set()


def test_make_help_lists_every_target_that_people_call() -> None:
    shown = subprocess.run(["make", "-s", "help"], cwd=ROOT, check=True, capture_output=True, text=True, timeout=30).stdout
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert phony
    assert set(re.findall(r"make ([a-z-]+)", shown)) == set(phony[1].split()) <= targets()


def test_make_model_ships_each_file_of_a_model_that_its_manifest_lists() -> None:
    manifest = json.loads((ROOT / "revelio/bundled/model/manifest.json").read_text(encoding="utf-8"))
    copied = re.search(r"^\tcd var/model && cp (.*) \S+$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert copied
    needed = {*manifest["files"], "manifest.json", "model_card.md"}
    assert {name for name in needed if not any(fnmatch(name, pattern) for pattern in copied[1].split())} == set()


def test_version_to_cite_is_that_of_the_package() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == __version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", __version__)


def test_ci_runs_what_is_run_before_a_merge() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert "bash .ci/run" in [step.get("run") for step in workflow["jobs"]["run"]["steps"]]
    steps = re.findall(r'step "(make [a-z-]+)"', (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert steps == ["make install", "make check", "make test", "make gate", "make test-stack"]


@pytest.mark.parametrize("form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda p: p.stem)
def test_issue_form_asks_each_thing_once(form: Path) -> None:
    described = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= described.keys()
    asked = [field["id"] for field in described["body"]]
    assert len(asked) == len(set(asked))
