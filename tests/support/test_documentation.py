"""Messages name pages that every installation has, never files or make targets of the repository."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from revelio.errors import NotFoundError
from revelio.support.documentation import page, pages

ROOT = Path(__file__).parent.parent.parent
WRITERS = {
    f"revelio/{name}.py" for name in ("catalog/reference", "cli/reference", "cli/screenshots", "training/evaluation/markdown")
}
"""They write pages of the repository, and say how."""

ABSENT = re.compile(r"\bdocs/[\w/.-]+\.(?:md|yaml|json)\b|\bdeploy/\w|\bmake (?:install|run|test|stack|reference)\b|CONTRIBUTING")
NAMED = re.compile(r"revelio docs ([a-z][\w.-]*)")


def texts() -> Iterator[tuple[str, str]]:
    """Every string of the program that is no docstring, with its file; docstrings of verbs are their help."""
    for path in (p for top in ("revelio", "webui", "fault_injection") for p in (ROOT / top).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        notes = {id(node.value) for node in nodes if isinstance(node, ast.Expr) and not name.startswith("revelio/cli/")}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes:
                yield name, node.value
    for path in (ROOT / "webui" / "templates").rglob("*.html"):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_messages_name_nothing_that_an_installation_lacks() -> None:
    allowed = {"revelio campaign card --out data/three_apps --write docs/dataset.md"}
    found = [(name, text) for name, text in texts() if name not in WRITERS and ABSENT.search(text)]
    assert [(name, text[:80]) for name, text in found if not any(a in text for a in allowed)] == []


def test_pages_that_messages_name_exist() -> None:
    there = pages()
    named = {(name, word.rstrip(".")) for name, text in texts() for word in NAMED.findall(text)}
    assert {word for _, word in named} >= {"accounts", "slack", "settings"}
    assert [(name, word) for name, word in named if word not in there] == []


def test_every_page_has_one_name() -> None:
    files = [p for p in (ROOT / "docs").rglob("*.md") if p.name != "README.md"]
    assert len({p.stem for p in files}) == len(files)


def test_a_missing_page_is_an_error() -> None:
    with pytest.raises(NotFoundError, match="revelio docs"):
        page("nowhere")
