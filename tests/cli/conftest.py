"""The command line on settings of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.made import CommandLine


@pytest.fixture
def revelio(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> CommandLine:
    """The command line, in an empty folder, with no setting from outside and a live system that does not answer."""
    for name in [n for n in os.environ if n.startswith("REVELIO_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("REVELIO_INCIDENTS", str(tmp_path / "incidents"))
    monkeypatch.setenv(
        "REVELIO_SYSTEMS", '{"shop": {"project": "made", "backends": {"prometheus": {"url": "http://127.0.0.1:9"}}}}'
    )
    monkeypatch.chdir(tmp_path)
    return CommandLine(monkeypatch, capsys)
