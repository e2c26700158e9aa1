"""What each verb imports: nearly all of the time that a verb takes to start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from revelio.settings import BUNDLED

HEAVY = {
    "alembic",
    "argon2",
    "dateparser",
    "docker",
    "faiss",
    "fastapi",
    "httpcore",
    "httpx",
    "jinja2",
    "mcp",
    "numpy",
    "onnxruntime",
    "opentelemetry",
    "prometheus_client",
    "pydantic",
    "pygments",
    "rich",
    "slack_bolt",
    "sqlalchemy",
    "tokenizers",
    "torch",
    "uvicorn",
    "yaml",
}
"""Packages whose import takes 15 ms or more."""

_INCIDENT = sorted(path.name.partition(".")[0] for path in (BUNDLED / "incidents").glob("*.jsonl.xz"))[0]
_SETTINGS = {"pydantic", "rich"}
_CATALOG = {*_SETTINGS, "yaml"}
_EVIDENCE = {*_CATALOG, "numpy", "opentelemetry"}
_MODEL = {*_EVIDENCE, "onnxruntime", "tokenizers"}

_CODE = """
import json, sys
from revelio.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def _imported(folder: Path, *words: str) -> set[str]:
    """The modules in memory after a verb, run as a newcomer does: with no settings and a bare environment."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", _CODE, *words],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=folder,
        timeout=120,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    ("words", "allowed", "most"),
    [
        ("--help", set(), 230),
        ("docs install", {"pydantic"}, 300),
        ("incidents list", _SETTINGS, 460),
        (f"incidents show {_INCIDENT}", {*_CATALOG, "numpy"}, 620),
        ("catalog list", _CATALOG, 490),
        ("models list", {*_CATALOG, "numpy"}, 630),
        ("users list", {*_SETTINGS, "alembic", "argon2", "pygments", "sqlalchemy"}, 790),
        (f"run containers.all_events --incident {_INCIDENT}", _EVIDENCE, 690),
        (f"recommend --incident {_INCIDENT}", {*_MODEL, "docker"}, 950),
        ("doctor", _MODEL, 720),
    ],
)
def test_a_verb_imports_only_what_it_needs(words: str, allowed: set[str], most: int, tmp_path: Path) -> None:
    """Of heavy packages only those ``allowed``, and ``most`` modules in all: a tenth more than there are today."""
    modules = _imported(tmp_path, *words.split())
    assert {name.partition(".")[0] for name in modules} & HEAVY <= allowed
    assert len(modules) <= most


def test_a_verb_does_not_import_the_other_verbs(tmp_path: Path) -> None:
    modules = _imported(tmp_path, "incidents", "list")
    assert not modules & {f"revelio.cli.{verb}" for verb in ("serve", "testbed", "train", "campaign", "recommend")}
