"""A stranger's Prometheus at a 15 s scrape: after ``revelio init`` with no edits nothing is asked in vain."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from revelio.catalog import bundled_catalog
from revelio.catalog.candidates import candidates, inventory
from revelio.catalog.conventions import conventions, signals
from revelio.settings import Backend, SystemSettings
from revelio.systems.system import open_system
from tests.foreign.programs import Programs, lacking, prometheus, start_all, wait_for

pytestmark = pytest.mark.foreign

SCRAPE_S = 15.0
SCRAPES = 6
"""Scrapes to wait for: a rate needs four."""


class Stranger:
    """A system that Revelio was never told of."""

    def __init__(self, url: str, pages: dict[str, str]) -> None:
        self.url = url
        self.pages = pages

    @property
    def exposed(self) -> set[str]:
        """The signals whose metrics the exporters write, by their own pages."""
        lines = (line for page in self.pages.values() for line in page.splitlines())
        metrics = {re.split(r"[{ ]", line)[0] for line in lines if line and line[0] != "#"} | {"up", "scrape_duration_seconds"}
        return {rule.signal for c in conventions().values() for rule in c.rules if metrics.issuperset(rule.metrics)}


@pytest.fixture(scope="module")
def stranger() -> Iterator[Stranger]:
    """Servers, exporters and a Prometheus that has scraped them for a while."""
    if lacking():
        pytest.skip(f"apt-get install --no-install-recommends {' '.join(lacking())}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        programs = Programs(Path(name))
        try:
            start_all(programs)
            pages = wait_for(programs.targets)
            url = prometheus(programs)
            time.sleep(SCRAPE_S * SCRAPES)
            yield Stranger(url, pages)
        finally:
            programs.close()


@pytest.fixture(scope="module")
def folder(stranger: Stranger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a stranger typed ``revelio init``."""
    folder = tmp_path_factory.mktemp("stranger")
    made = revelio(folder, "init", "--prometheus", stranger.url, "--only")
    assert made.returncode == 0, made.stderr
    return folder


def revelio(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line in a folder, without any of our settings."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("REVELIO_")} | {"NO_COLOR": "1"}
    command = [sys.executable, "-c", "from revelio.cli import main; main()", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=180, check=False)


def test_four_fifths_of_the_signals_that_exporters_expose_are_found(stranger: Stranger, folder: Path) -> None:
    looked = revelio(folder, "doctor", "--json")
    [seen] = json.loads(looked.stdout)["systems"].values()
    found = signals().keys() - seen["signals"]["not_seen"].keys()
    share = len(found & stranger.exposed) / len(stranger.exposed)
    print(f"\n{len(stranger.exposed)} signals exposed, {len(found & stranger.exposed)} found ({share:.0%}); {seen['templates']}")
    print("exposed and not found:", sorted(stranger.exposed - found))
    assert share >= 0.8
    assert seen["sources"]["prometheus"]["state"] == "good"
    assert seen["templates"]["usable"] >= 60


def test_no_query_that_is_ranked_comes_back_empty(folder: Path) -> None:
    answered = revelio(folder, "recommend", "the shop is slow since a few minutes", "-k", "20", "--run", "--json")
    assert answered.returncode == 0, answered.stderr
    answer = json.loads(answered.stdout)
    assert len(answer["queries"]) == 20
    assert [q["title"] for q in answer["queries"] if not q["result"]["series"]] == []
    assert any(sentence.startswith("Jaeger is not connected") for sentence in answer["not_asked"])


def test_no_candidate_at_all_comes_back_empty(stranger: Stranger) -> None:
    backend = Backend(url=stranger.url)
    system = open_system("mine", SystemSettings(backends={"prometheus": backend}), bundled_catalog())
    try:
        evidence = system.snapshot(time.time())
        there = candidates(system.catalog, inventory(evidence))
        empty = [q.title for q in there if not system.run(q, evidence).series]
        print(f"\n{len(there)} candidates of {len({q.template.id for q in there})} templates, {len(empty)} empty")
        assert len(there) >= 80
        assert empty == []
    finally:
        system.close()
