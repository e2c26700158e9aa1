"""What a release holds: every file of the four packages and the documentation, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("revelio", "fault_injection", "testbed", "webui")
PAGES = "revelio/bundled/docs/"


def built(target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (path,) = folder.iterdir()
    return path


def listed(*folders: str) -> list[str]:
    """Files of the repository."""
    command = ["git", "ls-files", "-co", "--exclude-standard", *folders]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    return [name for name in lines if (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of all files in a wheel built from this tree."""
    with zipfile.ZipFile(built("wheel", tmp_path_factory.mktemp("wheel"))) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of all files in a source distribution built from this tree, without its first folder."""
    with tarfile.open(built("sdist", tmp_path_factory.mktemp("sdist"))) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_every_source_and_data_file_is_in_it(wheel: set[str], source: set[str]) -> None:
    code, pages = set(listed(*PACKAGES)), set(listed("docs"))
    assert not code - wheel
    assert not {PAGES + name.removeprefix("docs/") for name in pages} - wheel
    assert not (code | pages) - source


def test_nothing_else_is_in_it(wheel: set[str], source: set[str]) -> None:
    tops = {name.split("/")[0] for name in wheel}
    assert {t for t in tops if not t.endswith(".dist-info")} == set(PACKAGES)
    everything = wheel | source
    strange = [n for n in everything if "__pycache__" in n or "/tests/" in n or n.startswith(("var/", "tests/", "data/"))]
    assert not [*strange, *(n for n in everything if n.endswith(".db"))]


def test_licence_and_command_are_in_it(wheel: set[str]) -> None:
    names = {name.partition(".dist-info/")[2] for name in wheel if ".dist-info/" in name}
    assert {"licenses/LICENSE", "licenses/NOTICE", "entry_points.txt"} <= names
