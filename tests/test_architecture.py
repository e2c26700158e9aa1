"""The house's rules that a checker can hold."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import rooms

ROOT = Path(__file__).parent.parent
LINT = Path(sys.executable).with_name("lint-imports")


def _loaded_by(statement: str) -> set[str]:
    """Top-level packages in memory after a statement, in a process of its own."""
    code = f"import sys\n{statement}\nprint(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, timeout=180)
    return set(done.stdout.split())


def test_import_contracts_hold() -> None:
    done = subprocess.run([LINT, "--no-cache"], capture_output=True, text=True, check=False, cwd=ROOT, timeout=120)
    assert done.returncode == 0, done.stdout


def test_the_top_of_the_package_can_be_read_at_one_glance() -> None:
    assert len(rooms.entries()) <= rooms.ENTRIES
    assert {room for floor in rooms.floors() for room in floor} >= set(rooms.entries()) - {"bundled"}


def test_the_page_draws_the_rooms_as_they_are() -> None:
    assert rooms.drawing() in rooms.PAGE.read_text(encoding="utf-8"), "python scripts/rooms.py --write"


def test_a_serving_module_that_read_labels_would_break_a_contract(tmp_path: Path) -> None:
    for package in ("revelio", "webui", "fault_injection", "testbed"):
        subprocess.run(["cp", "-r", ROOT / package, tmp_path / package], check=True)
    (tmp_path / ".importlinter").write_bytes((ROOT / ".importlinter").read_bytes())
    recommender = tmp_path / "revelio" / "ranker" / "recommender.py"
    recommender.write_text(f"import torch\nimport revelio.systems.incidents.dataset\n{recommender.read_text()}")
    done = subprocess.run([LINT, "--no-cache"], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)
    assert done.returncode == 1
    broken = [line.split(" BROKEN")[0] for line in done.stdout.splitlines() if " BROKEN" in line]
    assert broken == [
        "Only training, evaluation, fault injection and the command line import labels",
        "Nothing that answers people reaches labels, not even through others",
        "Only training code imports torch and its kin",
    ]


@pytest.mark.parametrize("module", ["revelio.service", "webui.app", "revelio.training.evaluation.runner"])
def test_serving_and_evaluation_load_no_training_library(module: str) -> None:
    assert not _loaded_by(f"import {module}") & {"torch", "transformers", "sentence_transformers", "sklearn", "onnx"}


def test_help_loads_none_of_the_heavy_libraries() -> None:
    loaded = _loaded_by("from revelio.cli.app import build; build()")
    assert "typer" in loaded
    assert not loaded & {"numpy", "onnxruntime", "fastapi", "sqlalchemy", "httpx", "pydantic", "rich", "docker"}


ASK_LOGS = """
from contextlib import suppress
from revelio.catalog import bundled_catalog
from revelio.settings import Backend
from revelio.tools.base import Limits
from revelio.tools.registry import TOOLS, make_tool, probes
probes()
tools = {s.name: make_tool(s, Backend(url="http://127.0.0.1:9"), Limits()) for s in bundled_catalog().tools if s.name in TOOLS}
"""


def test_the_client_of_elasticsearch_is_loaded_where_one_is_asked_and_not_before() -> None:
    assert "elasticsearch" not in _loaded_by(ASK_LOGS)
    assert "elasticsearch" in _loaded_by(f"{ASK_LOGS}\nwith suppress(Exception):\n    tools['elasticsearch'].ping()\n")


def test_onnx_runtime_is_imported_only_where_its_telemetry_is_off_by_then() -> None:
    imports = re.compile(r"^\s*(?:import|from)\s+onnxruntime\b|import_module\(.onnxruntime", re.MULTILINE)
    sources = [p for folder in ("revelio", "webui", "fault_injection", "testbed", "tests") for p in (ROOT / folder).rglob("*.py")]
    importing = {p.relative_to(ROOT).as_posix() for p in sources if imports.search(p.read_text(encoding="utf-8"))}
    assert importing == {"revelio/encoders/inference.py", "revelio/training/export.py"}


@pytest.mark.parametrize("given", [None, "0", "1"])
def test_whatever_imports_revelio_turns_the_telemetry_of_onnx_runtime_off(given: str | None) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("ORT_DISABLE_TELEMETRY", "CI")}
    environment |= {"ORT_DISABLE_TELEMETRY": given} if given else {}
    code = "import os, revelio.encoders.inference; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, cwd=ROOT, timeout=60
    )
    assert done.stdout.strip() == "1"


RETRIEVAL = {"faiss", "elasticsearch", "bm25s"}
_FAISS = "from pathlib import Path; from revelio.retrieval.faiss_index import FaissIndex; FaissIndex(Path('/nowhere/i'), 'm', 8)"
_FLEET = (
    "from revelio.encoders.report import HashingEncoder; from revelio.retrieval.fleet import index_names; "
    "index_names(['cart'], HashingEncoder())"
)


@pytest.mark.parametrize("module", ["revelio.service", "revelio.ranker.recommender", "webui.app"])
def test_serving_loads_no_engine_of_retrieval_before_it_is_needed(module: str) -> None:
    assert not _loaded_by(f"import {module}") & RETRIEVAL


def test_an_answer_loads_no_engine_of_retrieval() -> None:
    ask = (
        "from revelio.service import Service; from revelio.settings import Settings; "
        "from revelio.service.request import RecommendRequest; service = Service(Settings(database='sqlite://')); "
        "saved = service.recommend(RecommendRequest('it is slow', incident=service.incidents.ids()[0])); service.similar(saved)"
    )
    assert not _loaded_by(ask) & RETRIEVAL


_ENCODER = (
    "from revelio.encoders.report import OnnxEncoder; from revelio.settings import BUNDLED; "
    "OnnxEncoder(BUNDLED / 'model' / 'report.onnx', BUNDLED / 'model' / 'tokenizer.json')"
)
USED_BY = {
    _FAISS: {"faiss"},
    _FLEET: {"faiss"},
    "import revelio.retrieval.elasticsearch_index": {"elasticsearch"},
    "from revelio.retrieval.imported_questions import lexical_index; lexical_index(['a b'])": {"bm25s"},
    _ENCODER: {"onnxruntime", "tokenizers"},
    "import webui.app": {"fastapi", "jinja2"},
    "from revelio.store.engine import open_engine; open_engine('sqlite://')": {"sqlalchemy", "alembic"},
    "import revelio.training.report_encoder": {"sentence_transformers", "transformers", "torch", "datasets", "accelerate"},
}
"""What each path of the program loads, as docs/architecture.md says."""
SPELLED = {"jinja2": "Jinja", "onnxruntime": "ONNX Runtime", "sentence_transformers": "sentence-transformers"}


@pytest.mark.parametrize(("statement", "packages"), USED_BY.items())
def test_each_path_works_with_the_packages_that_it_names(statement: str, packages: set[str]) -> None:
    if "training" in statement:
        pytest.importorskip("torch")
    assert packages <= _loaded_by(statement)


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_each_package_is_named_with_its_job(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8").lower()
    named = {SPELLED.get(package, package).lower() for packages in USED_BY.values() for package in packages}
    assert {package for package in named if package not in text} == set()
