"""Files that may hold secrets, reports or telemetry: only their owner reads them."""

from __future__ import annotations

import os
from pathlib import Path

_MODE = 0o600


def private(path: str, flags: int) -> int:
    """An ``opener`` for ``open``: the file is its owner's alone, also where it was there before."""
    descriptor = os.open(path, flags, _MODE)
    os.fchmod(descriptor, _MODE)
    return descriptor


def create_private(path: Path) -> None:
    """Create an empty file, unless it is there; ``OSError`` where that is not possible."""
    path.touch(_MODE)
