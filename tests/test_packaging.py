"""What the wheel holds: every file of the four packages and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("revelio", "fault_injection", "testbed", "webui")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of all files in a wheel built from this tree."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


def test_every_source_and_data_file_is_in_it(wheel: set[str]) -> None:
    command = ["git", "ls-files", "-co", "--exclude-standard", *PACKAGES]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    assert not {name for name in listed if (ROOT / name).is_file()} - wheel


def test_nothing_else_is_in_it(wheel: set[str]) -> None:
    tops = {name.split("/")[0] for name in wheel}
    assert {t for t in tops if not t.endswith(".dist-info")} == set(PACKAGES)
    strange = [n for n in wheel if "__pycache__" in n or "/tests/" in n or n.startswith(("var/", "tests/")) or n.endswith(".db")]
    assert not strange


def test_licence_and_command_are_in_it(wheel: set[str]) -> None:
    names = {name.partition(".dist-info/")[2] for name in wheel if ".dist-info/" in name}
    assert {"licenses/LICENSE", "licenses/NOTICE", "entry_points.txt"} <= names
