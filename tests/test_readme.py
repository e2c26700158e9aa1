"""What the README tells people to do, works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from revelio.settings import load_settings

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_its_settings_example_is_accepted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", README, flags=re.DOTALL)
    (tmp_path / "revelio.toml").write_text(example)
    monkeypatch.chdir(tmp_path)
    assert load_settings().systems["ours"].backends["prometheus"].url == "http://prometheus:9090"


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]


def test_its_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)", README)) <= targets
