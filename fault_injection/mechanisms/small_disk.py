"""Carries a container's data over to a separate small disk, which one large file then fills; and carries it back.

The disk is an image file beside the volume, mounted where the volume lies, so writers there meet the kernel's own
"no space left on device". Each act may be repeated, and after a kill -9 at any point ``carry_back`` puts things right: until the
image is mounted the volume is whole, and while it is mounted the image is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from revelio.errors import FaultError

FILE = "export.tar"
"""The file that fills it."""
_IMAGE = "disk.img"
_SLACK = 48 * 2**20
"""What the small disk has beyond the data and a tenth of it: its own tables, and some room to work in while nothing fills it."""


def carry_over(volume: Path) -> None:
    """Have the volume on a small disk. It must not be in use meanwhile. ``FaultError``, also where there are no loop devices."""
    if _is_mounted(volume):
        raise FaultError(f"something is mounted at {volume} already")
    image = volume.parent / _IMAGE
    with image.open("wb") as file:
        file.truncate(_size(volume) * 11 // 10 + _SLACK)
    _run("mkfs.ext4", "-q", "-F", "-m", "0", str(image))
    with _mounted("-o", "loop", str(image)) as there:
        _run("cp", "--archive", f"{volume}/.", str(there))
    owner, mode = volume.stat(), volume.stat().st_mode
    _run("mount", "-o", "loop", str(image), str(volume))
    os.chown(volume, owner.st_uid, owner.st_gid)
    volume.chmod(mode & 0o7777)


def fill(volume: Path) -> None:
    """Put a file there that leaves no space at all."""
    if not _is_mounted(volume):
        raise FaultError(f"{volume} is not on a separate disk; filling it would fill this machine's")
    with (volume / FILE).open("wb") as file:
        size = 0
        for piece in (2**20, 2**12):
            while (free := _free(volume)) >= piece:
                step = free // piece * piece
                try:
                    os.posix_fallocate(file.fileno(), size, step)
                    size += step
                except OSError:
                    break


def carry_back(volume: Path) -> None:
    """Have the volume where it was, with all that was written since but that file. It must not be in use meanwhile."""
    if _is_mounted(volume):
        (volume / FILE).unlink(missing_ok=True)
        with _mounted("--bind", str(volume.parent)) as beside:
            under = beside / volume.name
            for entry in under.iterdir():
                _remove(entry)
            _run("cp", "--archive", f"{volume}/.", str(under))
        _run("umount", "--lazy", str(volume))
    (volume.parent / _IMAGE).unlink(missing_ok=True)


def is_full(volume: Path) -> bool:
    """Whether it is on a small disk, and hardly a page is free there."""
    return _is_mounted(volume) and _free(volume) < 2**14


def _free(volume: Path) -> int:
    figures = os.statvfs(volume)
    return figures.f_bavail * figures.f_frsize


def _size(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in (folder, *folder.rglob("*")))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _is_mounted(volume: Path) -> bool:
    return volume.is_mount()


@contextmanager
def _mounted(*what: str) -> Iterator[Path]:
    """Mount something for as long as the block lasts."""
    folder = Path(tempfile.mkdtemp())
    try:
        _run("mount", *what, str(folder))
        try:
            yield folder
        finally:
            _run("umount", "--lazy", str(folder))
    finally:
        folder.rmdir()


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    except subprocess.CalledProcessError as error:
        raise FaultError(f"`{' '.join(command)}` failed: {error.stderr.strip()}; run as root, with loop devices") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FaultError(f"`{' '.join(command)}` cannot be run: {error}") from error
