"""A volume on a small disk runs full with the kernel's own error, and comes back with all that was written meanwhile."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fault_injection.mechanisms import small_disk
from revelio.errors import FaultError

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/loop-control").exists() or shutil.which("mkfs.ext4") is None,
    reason="needs root, loop devices and mkfs.ext4",
)


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "volume" / "_data"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "old").write_text("old")
    folder.chmod(0o711)
    yield folder
    small_disk.carry_back(folder)


def test_it_runs_full_and_comes_back_whole(volume: Path) -> None:
    small_disk.carry_over(volume)
    (volume / "new").write_text("new")
    assert not small_disk.is_full(volume)
    small_disk.fill(volume)
    assert small_disk.is_full(volume)
    with pytest.raises(OSError) as refused:
        (volume / "more").write_bytes(os.urandom(2**16))
    assert refused.value.errno == errno.ENOSPC
    (volume / "more").unlink(missing_ok=True)
    small_disk.carry_back(volume)
    assert not volume.is_mount()
    assert {path.name: path.read_text() for path in volume.rglob("*") if path.is_file()} == {"old": "old", "new": "new"}
    assert volume.stat().st_mode & 0o777 == 0o711
    assert [path.name for path in volume.parent.iterdir()] == ["_data"]


def test_what_dies_on_the_way_over_leaves_the_volume_as_it_was(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*command: str) -> None:
        raise FaultError("no loop devices")

    with monkeypatch.context() as patched:
        patched.setattr(small_disk, "_run", refused)
        with pytest.raises(FaultError, match="no loop devices"):
            small_disk.carry_over(volume)
    small_disk.carry_back(volume)
    assert (volume / "deep" / "old").read_text() == "old"
    assert [path.name for path in volume.parent.iterdir()] == ["_data"]


def test_what_dies_on_the_way_back_can_be_tried_again(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_disk.carry_over(volume)
    (volume / "new").write_text("new")
    real = small_disk._run

    def dying(*command: str) -> None:
        if command[0] == "cp":
            raise FaultError("killed")
        real(*command)

    with monkeypatch.context() as patched:
        patched.setattr(small_disk, "_run", dying)
        with pytest.raises(FaultError, match="killed"):
            small_disk.carry_back(volume)
    assert (volume / "new").read_text() == "new"
    small_disk.carry_back(volume)
    assert (volume / "new").read_text() == "new" and (volume / "deep" / "old").read_text() == "old"


def test_a_volume_on_the_machines_own_disk_is_never_filled(volume: Path) -> None:
    with pytest.raises(FaultError, match="would fill this machine's"):
        small_disk.fill(volume)
