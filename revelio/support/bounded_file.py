"""Files that a person hands in, read no further than a limit, and decompressed no further than another."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

MOST_SETTINGS = 500_000
"""Bytes of a file that a person writes by hand: settings, a catalog."""

_PART = 1 << 18
_MOST_DECODER = 128 << 20
"""Memory that an xz file may ask for, in bytes: half as much again as at the highest preset."""


class OversizedError(ValueError):
    """The file, or a line of it, is larger than the limit."""


def read_bounded(path: Path, most: int = MOST_SETTINGS) -> bytes:
    """The content of a file of at most ``most`` bytes; ``OversizedError`` when it is larger, and ``OSError``."""
    with path.open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OversizedError(f"larger than {most / 1e6:g} MB; is this the right file?")
    return content


def lines_of(file: BinaryIO, packed: bool, most_line: int, most: int) -> Iterator[bytes]:
    """The lines of an open file, decompressed where it is ``packed`` by xz.

    Raises ``OversizedError`` for a line of more than ``most_line`` bytes or a whole of more than ``most``, ``OSError``,
    ``EOFError`` where it ends in the middle, and ``lzma.LZMAError`` where it is damaged or asks for too much memory.
    """
    begun, read = b"", 0
    for part in _decompressed(file) if packed else iter(lambda: file.read(_PART), b""):
        read += len(part)
        if read > most:
            raise OversizedError(f"holds more than {most / 1e6:g} MB; split it into several files")
        *lines, begun = (begun + part).split(b"\n")
        if max(map(len, (*lines, begun))) > most_line:
            raise OversizedError(f"has a line of more than {most_line / 1e6:g} MB; is this the right file?")
        yield from lines
    if begun:
        yield begun


def _decompressed(file: BinaryIO) -> Iterator[bytes]:
    packed = file.read(_PART)
    while packed:
        decoder = lzma.LZMADecompressor(memlimit=_MOST_DECODER)
        while not decoder.eof:
            yield decoder.decompress(packed, _PART)
            packed = file.read(_PART) if decoder.needs_input and not decoder.eof else b""
            if decoder.needs_input and not decoder.eof and not packed:
                raise EOFError("the file ends in the middle")
        packed = (decoder.unused_data or file.read(_PART)).lstrip(b"\0")  # streams may follow each other, padded
