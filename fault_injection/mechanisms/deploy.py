"""What a rollout of a new version puts into a service's container."""

from __future__ import annotations

import time
from dataclasses import replace

from fault_injection.engine import Engine, StoredFile
from revelio.errors import FaultError

VERSION = "/app/VERSION"

Files = dict[str, StoredFile]


def next_version(engine: Engine, service: str) -> tuple[Files, Files]:
    """The version file as it is, and the same with its last number raised by one."""
    stored = engine.read_file(service, VERSION)
    text = stored.content.decode().strip()
    head, dot, last = text.rpartition(".")
    if not last.isdigit():
        raise FaultError(f"{VERSION} of {service} says {text!r}, which does not end in a number")
    raised = f"{head}{dot}{int(last) + 1}\n".encode()
    return {VERSION: stored}, {VERSION: replace(stored, content=raised, mtime=float(int(time.time())))}
