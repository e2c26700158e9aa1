"""What the kernel's tables say of a process's open files and connections."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path


def established(table: str, spared: Collection[int]) -> frozenset[str]:
    """The inodes of established connections with other machines in what the kernel's ``net/tcp`` says."""
    found = set()
    for line in table.splitlines()[1:]:
        _, _, there, state, *rest = line.split()
        address, _, port = there.partition(":")
        # Addresses are written backwards: the last byte is the first one of 127.0.0.1.
        if state == "01" and not address.endswith("7F") and int(port, 16) not in spared:
            found.add(rest[5])
    return frozenset(found)


def target_of(link: Path) -> str:
    """What an open file is; nothing when it was closed meanwhile."""
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""
