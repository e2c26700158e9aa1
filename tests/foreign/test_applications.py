"""Applications by others, side by side: after ``revelio init`` with no edits, what their exporters expose is found and asked.

By default each is looked at in health; ``FOREIGN=whole`` breaks them as well, which takes an hour or two and adds to
``data/foreign`` what is not recorded there yet. Either prints the table of what is recorded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.foreign.__main__ import FOLDER
from tests.foreign.applications import APPLICATIONS
from tests.foreign.exposed import Exposed
from tests.foreign.machine import not_possible
from tests.foreign.recording import Figures, noted
from tests.foreign.table import table

pytestmark = pytest.mark.foreign

WHOLE = os.environ.get("FOREIGN") == "whole"
PARTS = 2
"""Machines of each application that are broken side by side."""
MOST_REQUESTS, MOST_SECONDS = 30, 3.0


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What a look at each application that is installed left; the table comes at the end."""
    folder = FOLDER if WHOLE else tmp_path_factory.mktemp("foreign")
    there = [name for name, app in APPLICATIONS.items() if not (app.lacking() or not_possible())]
    how = [["--part", f"{p}/{PARTS}"] for p in range(1, PARTS + 1)] if WHOLE else [["--quick", "--most", "0"]]
    record = [sys.executable, "-m", "tests.foreign", "record", "--folder", str(folder)]
    running = [subprocess.Popen([*record, name, *words]) for name in there for words in how]
    try:
        failed = [one.args for one in running if one.wait(4 * 3600)]
    finally:
        for one in running:
            one.terminate()
    assert not failed
    yield folder
    print("\n" + table(FOLDER, {name: app.title for name, app in APPLICATIONS.items()}))


@pytest.fixture(params=list(APPLICATIONS))
def app(request: pytest.FixtureRequest) -> str:
    """Each application that is installed."""
    name = str(request.param)
    lacking = APPLICATIONS[name].lacking() or not_possible()
    if lacking:
        pytest.skip(f"{name}: {lacking}")
    return name


def test_four_fifths_of_what_its_exporters_expose_is_found(app: str, looked: Path) -> None:
    seen = Exposed(**json.loads((looked / "applications.json").read_text(encoding="utf-8"))[app])
    print(f"\n{app}: {seen.told}")
    assert seen.share >= 0.8


def test_no_query_that_can_be_asked_comes_back_empty(app: str, looked: Path) -> None:
    figures = _figures(app, looked)
    assert all(f.candidates >= 20 for f in figures)
    assert [f.empty for f in figures if f.empty] == []


def test_a_snapshot_costs_few_requests_and_seconds(app: str, looked: Path) -> None:
    for one in _figures(app, looked):
        assert one.requests <= MOST_REQUESTS
        assert one.seconds <= MOST_SECONDS or WHOLE  # beside a dozen other machines it may take longer


def _figures(app: str, looked: Path) -> list[Figures]:
    return [f for name, f in noted(looked).items() if name.startswith(f"{app}-")]
