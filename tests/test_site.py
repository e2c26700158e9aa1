"""The documentation site builds without a warning, links nowhere in vain, and loads nothing from other sites."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that it was built into."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    kept = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=kept, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_of_the_documentation_is_in_it(site: Path) -> None:
    wanted = {p.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for p in (ROOT / "docs").rglob("*.md")}
    wanted = {name.replace("README.html", "index.html") for name in wanted}
    there = {p.relative_to(site).as_posix() for p in site.rglob("*.html")}
    assert wanted | {"project/contributing.html", "project/changelog.html"} <= there


def test_it_loads_nothing_from_other_sites(site: Path) -> None:
    loads = re.compile(
        r"""<(?:script|img|iframe|source)[^>]+src="(?:https?:)?//|<link[^>]+rel="stylesheet"[^>]+href="(?:https?:)?//"""
    )
    assert [p.name for p in site.rglob("*.html") if loads.search(p.read_text(encoding="utf-8"))] == []


def test_links_to_files_outside_of_it_are_gone(site: Path) -> None:
    for page in site.rglob("*.html"):
        for link in re.findall(r'href="([^":#]+)[#"]', page.read_text(encoding="utf-8")):
            if not link.startswith("/"):  # the page of an unknown address
                assert (page.parent / link).exists(), f"{page.relative_to(site)} links to {link}"
