"""The threat model names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs/threat-model.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("file", "test"), sorted(set(NAMED)))
def test_a_test_that_the_page_names_exists(file: str, test: str) -> None:
    assert re.search(rf"^def {test}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_attacker_has_a_test() -> None:
    parts = (ROOT / "docs/threat-model.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(parts) >= 8
    assert all("`tests/" in part for part in parts)
