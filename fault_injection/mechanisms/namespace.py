"""Makes sockets inside another process's network: this process stays where it is, and starts nothing there."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from revelio.errors import FaultError

_NETWORK = 0x40000000
"""The kernel's CLONE_NEWNET."""


@contextmanager
def network_of(pid: int) -> Iterator[None]:
    """Sockets that this thread makes within the block belong to the network of process ``pid``, and stay there.

    Raises ``FaultError`` when that process is gone or this one is not root.
    """
    try:
        there = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise FaultError(f"the network of process {pid} cannot be entered: {error}") from error
    here = os.open(Path("/proc/thread-self/ns/net"), os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter(there)
        try:
            yield
        finally:
            _enter(here)
    finally:
        os.close(there)
        os.close(here)


def _enter(namespace: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, _NETWORK):
        raise FaultError(f"a container's network cannot be entered: {os.strerror(ctypes.get_errno())}; run as root")
