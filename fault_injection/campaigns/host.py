"""Who may use this machine now: several applications may have their runs beside each other, but for faults that burden it."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TURN = Path(tempfile.gettempdir()) / "revelio-host.lock"


@contextmanager
def turn_on_host(alone: bool, path: Path = TURN) -> Iterator[None]:
    """Wait until no other process holds the machine exclusively (with ``alone``: at all), then hold it for the block."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
