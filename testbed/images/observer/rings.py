"""Bounds what a rolling capture keeps on disk."""

from pathlib import Path


def newest_last(folder: Path, pattern: str) -> list[Path]:
    """The files of a ring in the order in which they were last written."""
    written = [(path.stat().st_mtime, path) for path in folder.glob(pattern)]
    return [path for _, path in sorted(written)]


def prune(folder: Path, pattern: str, most: int, files: int = 32) -> list[Path]:
    """Remove the oldest files of a ring so that at most `most` bytes in `files` files stay. What was removed.

    The newest file stays in any case.
    """
    left = most
    removed = []
    for i, path in enumerate(reversed(newest_last(folder, pattern))):
        left -= path.stat().st_size
        if i and (left < 0 or i >= files):
            path.unlink()
            removed.append(path)
    return removed
