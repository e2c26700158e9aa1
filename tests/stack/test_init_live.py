"""``revelio init`` in a folder that knows nothing, looking at real backends with an application nobody told it of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fault_injection.testbed_system import system_of

pytestmark = pytest.mark.stack

APP = "shop"
TOOLS = ("prometheus", "jaeger", "elasticsearch")


def revelio(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command line as somebody types it there, with none of our settings in force."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("REVELIO_")} | {"NO_COLOR": "1"}
    command = [sys.executable, "-c", "from revelio.cli import main; main()", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_what_init_writes_recommends_at_once_for_an_application_it_was_not_told_of(tmp_path: Path) -> None:
    urls = {tool: str(system_of(APP).backends[tool].url) for tool in TOOLS}
    named = [word for tool, url in urls.items() for word in (f"--{tool}", url)]
    started = revelio(tmp_path, "init", "--only", "--system", "theirs", *named)
    assert started.returncode == 0, started.stderr
    written = tomllib.loads((tmp_path / "revelio.toml").read_text(encoding="utf-8"))
    assert set(written["systems"]["theirs"]["backends"]) == set(TOOLS)
    answered = revelio(tmp_path, "recommend", "checkout takes ages since a few minutes", "--json")
    assert answered.returncode == 0, answered.stderr
    answer = json.loads(answered.stdout)
    places = {value for query in answer["queries"] for value in query["bindings"].values()}
    assert places & {"gateway", "cart", "orders", "payment", "products", "users", "search", "recommendations"}
    assert answer["degraded"] == []
    looked = revelio(tmp_path, "doctor")
    assert "theirs" in looked.stdout + looked.stderr
