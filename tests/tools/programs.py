"""Real servers on free ports of loopback, for tests that skip where the program is not there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

CACHE = Path.home() / ".cache" / "revelio"


def program(name: str) -> str:
    """Where the program is: on the PATH, or below ~/.cache/revelio; skips the test where it is not."""
    built = sorted([*CACHE.glob(f"{name}/*/{name}"), *CACHE.glob(f"foreign/*/bin/{name}")])
    found = shutil.which(name) or (str(built[-1]) if built else None)
    if found is None:
        pytest.skip(f"{name} is not here: put it on the PATH, or at ~/.cache/revelio/{name}/VERSION/{name}")
    return found


@contextmanager
def running(command: Sequence[str], log: Path, ready: str, seconds: float = 90.0) -> Iterator[None]:
    """The program, from when the address ``ready`` answers (at once where there is none) until the block ends."""
    with log.open("wb") as out:
        started = subprocess.Popen(["nice", *command], stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        deadline = time.monotonic() + seconds
        while ready and not _answers(ready):
            if started.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(f"{command[0]} does not answer at {ready}:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.2)
        yield
    finally:
        for how in (signal.SIGTERM, signal.SIGKILL):
            if started.poll() is None:
                os.killpg(started.pid, how)
                try:
                    started.wait(timeout=10.0)
                except subprocess.TimeoutExpired:
                    continue


def _answers(address: str) -> bool:
    try:
        return httpx.get(address, timeout=2.0).status_code == 200
    except httpx.HTTPError:
        return False
