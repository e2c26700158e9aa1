"""Writes packets of several named interfaces into one file that tshark reads: the pcapng blocks needed for that."""

import struct
from pathlib import Path
from typing import BinaryIO

ETHERNET = 1
SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
NAME = 2
"""The interface option that holds its name."""


class PacketFile:
    """A capture file in the making; every packet is on disk when `write` returns."""

    def __init__(self, path: Path) -> None:
        """Restarts the file."""
        self.path = path
        self.size = 0
        self._file: BinaryIO = path.open("wb", buffering=0)
        self._interfaces: dict[str, int] = {}
        self._put(block(SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)))

    def write(self, interface: str, at_ns: int, packet: bytes) -> None:
        """A whole packet of the interface, at that time since 1970."""
        number = self._interfaces.get(interface)
        described = b""
        if number is None:
            number = self._interfaces[interface] = len(self._interfaces)
            described = block(INTERFACE, struct.pack("<HHI", ETHERNET, 0, 0) + option(NAME, interface.encode()))
        micros = at_ns // 1000
        head = struct.pack("<IIIII", number, micros >> 32, micros & 0xFFFFFFFF, len(packet), len(packet))
        self._put(described + block(PACKET, head + packet))

    def close(self) -> None:
        """No more packets."""
        self._file.close()

    def _put(self, blocks: bytes) -> None:
        self._file.write(blocks)
        self.size += len(blocks)


def block(kind: int, body: bytes) -> bytes:
    """A block: padded to 32 bits, its length on both ends."""
    padded = body + bytes(-len(body) % 4)
    length = struct.pack("<I", len(padded) + 12)
    return struct.pack("<I", kind) + length + padded + length


def option(code: int, value: bytes) -> bytes:
    """One option and the end of options."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4) + bytes(4)
