"""Health checks leave the engine room to remember what happens: a check stays in its container instead of being started anew."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from testbed.stack.project import ROOT, shared_services

STEADY = ROOT / "testbed" / "backends" / "health" / "steady"
REMEMBERED = 256
"""Events that the engine keeps."""
EVENTS_OF_A_CHECK = 3
CONTAINERS = 24
"""Of the largest application with its stores and backends."""


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "healthy"


def started(mark: Path, *command: str) -> subprocess.Popen[bytes]:
    environment = {"PATH": "/usr/bin:/bin", "STEADY_MARK": str(mark)}
    return subprocess.Popen(["sh", str(STEADY), *command], env=environment, stderr=subprocess.DEVNULL)


def test_the_first_check_says_at_once_that_all_is_well(mark: Path) -> None:
    assert started(mark, "true").wait(timeout=2) == 0
    assert mark.exists()


def test_a_check_of_a_healthy_container_stays_and_ends_when_it_is_well_no_more(mark: Path, tmp_path: Path) -> None:
    well = tmp_path / "well"
    well.touch()
    mark.touch()
    check = started(mark, "test", "-e", str(well))
    with pytest.raises(subprocess.TimeoutExpired):
        check.wait(timeout=1)
    well.unlink()
    assert check.wait(timeout=7) == 1
    assert not mark.exists()


def test_a_check_that_was_cut_short_is_followed_by_a_quick_one(mark: Path) -> None:
    mark.touch()
    check = started(mark, "true")
    time.sleep(0.3)
    check.kill()
    check.wait()
    assert started(mark, "true").wait(timeout=2) == 0


def test_a_container_that_comes_up_slowly_has_three_tries(mark: Path, tmp_path: Path) -> None:
    well = tmp_path / "well"
    check = started(mark, "test", "-e", str(well))
    time.sleep(0.5)
    well.touch()
    assert check.wait(timeout=3) == 0
    well.unlink()
    mark.unlink()
    assert started(mark, "test", "-e", str(well)).wait(timeout=4) == 1


def test_every_store_and_backend_is_checked_that_way() -> None:
    for name, service in shared_services().items():
        assert service["healthcheck"]["test"][:3] == ["CMD", "sh", "/health/steady"], name
        assert service["healthcheck"]["timeout"] == "240s" and "./testbed/backends/health:/health:ro" in service["volumes"], name


def test_the_engine_then_remembers_more_than_five_minutes() -> None:
    text = STEADY.read_text()
    looks, apart = re.search(r"looks=(\d+)", text), re.search(r"sleep (\d+)\n    done", text)
    assert looks and apart
    lasts = int(looks[1]) * int(apart[1])
    assert REMEMBERED / (CONTAINERS * EVENTS_OF_A_CHECK / lasts) > 300
