"""Reference pages say what the program says."""

from __future__ import annotations

from pathlib import Path

import pytest

from revelio.cli.reference import pages

FOLDER = Path(__file__).parent.parent.parent / "docs" / "reference"


@pytest.mark.parametrize("name", ["cli.md", "settings.md", "catalog.md", "conventions.md", "figures.md"])
def test_the_page_is_what_the_program_says_now(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == pages()[name], "run `make reference` and commit the result"


def test_every_verb_has_json_and_an_example() -> None:
    sections = pages()["cli.md"].split("### ")[1:]
    verbs = [s for s in sections if "Commands:" not in s]
    assert len(verbs) >= 20
    assert not [s.splitlines()[0] for s in verbs if "--json" not in s]
    assert not [s.splitlines()[0] for s in verbs if "Examples:" not in s]
