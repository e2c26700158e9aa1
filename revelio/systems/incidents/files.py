"""The files of a folder of incidents, some of them packed into shards.

A shard (``NAME.pack.jsonl.xz``) is the files themselves, one after the other: each stays an xz stream, so that ``xz -dc``
reads a shard, packing compresses nothing again, and one file is read without the others. ``shards.json`` says where each file
lies. A file that lies in the folder itself wins over a packed one of its name.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from revelio.errors import DatasetError

SUFFIXES = (".jsonl", ".jsonl.xz")
SHARD_SUFFIX = ".pack.jsonl.xz"
INDEX = "shards.json"
FILES_A_SHARD = 50


@dataclass(frozen=True, slots=True)
class Packed:
    """Where a packed file lies: its shard's name, and its first byte and length there."""

    shard: str
    offset: int
    length: int


class IncidentFiles:
    """The incident files of a folder by name, in the order of their names. A folder that is not there holds none."""

    def __init__(self, folder: Path) -> None:
        """Read the index. Raises ``DatasetError`` when it is no index."""
        self.folder = folder
        self._packed = _read_index(folder / INDEX)

    def names(self) -> tuple[str, ...]:
        """Names of all files, packed ones among them."""
        return tuple(sorted(self._packed.keys() | self._loose()))

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
        return name in self._packed or (self.folder / name).is_file()

    def open(self, name: str) -> BinaryIO:
        """A file's bytes, as they were before it was packed. Raises ``OSError`` when it is not there."""
        place = self._packed.get(name)
        if place is None or (self.folder / name).is_file():
            return (self.folder / name).open("rb")
        with (self.folder / place.shard).open("rb") as shard:
            shard.seek(place.offset)
            return io.BytesIO(shard.read(place.length))

    def digest(self, name: str) -> str:
        """sha256 of a file's bytes, in hex. Raises ``OSError`` when it is not there."""
        with self.open(name) as file:
            return hashlib.sha256(file.read()).hexdigest()

    def pack(self, files_a_shard: int = FILES_A_SHARD) -> int:
        """Move all compressed files of the folder into shards; gives their number. Ended at any point it loses nothing.

        Shards none of whose files has a newer one beside it stay as they are.
        """
        moved = {name for name in self._loose() if name.endswith(".xz")}
        replaced = {self._packed[name].shard for name in moved & self._packed.keys()}
        index = {name: place for name, place in self._packed.items() if place.shard not in replaced}
        groups: dict[str, list[str]] = defaultdict(list)
        for name in sorted(moved | {n for n, place in self._packed.items() if place.shard in replaced}):
            groups[name.rpartition("-")[0]].append(name)
        for group, names in groups.items():
            for first in range(0, len(names), files_a_shard):
                index |= self._write_shard(group, names[first : first + files_a_shard])
        if moved:
            _replace(self.folder / INDEX, _dump_index(index))
            self._packed = index
        for stale in moved.union(replaced - {place.shard for place in index.values()}):
            (self.folder / stale).unlink()
        return len(moved)

    def _loose(self) -> set[str]:
        if not self.folder.is_dir():
            return set()
        names = (path.name for path in self.folder.iterdir() if not path.name.startswith("."))
        return {name for name in names if name.endswith(SUFFIXES) and not name.endswith(SHARD_SUFFIX)}

    def _write_shard(self, group: str, names: Sequence[str]) -> dict[str, Packed]:
        contents = {}
        for name in names:
            with self.open(name) as file:
                contents[name] = file.read()
        whole = b"".join(contents.values())
        shard = f"{group or 'incidents'}-{hashlib.sha256(whole).hexdigest()[:8]}{SHARD_SUFFIX}"
        _replace(self.folder / shard, whole)
        places, offset = {}, 0
        for name, content in contents.items():
            places[name] = Packed(shard, offset, len(content))
            offset += len(content)
        return places


def _read_index(path: Path) -> dict[str, Packed]:
    if not path.is_file():
        return {}
    try:
        index: dict[str, Packed] = {}
        for shard, lengths in json.loads(path.read_bytes())["shards"].items():
            offset = 0
            for name, length in lengths.items():
                index[name] = Packed(shard, offset, int(length))
                offset += int(length)
        return index
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{path}: not an index of packed incidents: {error}") from error


def _dump_index(index: Mapping[str, Packed]) -> bytes:
    """Each shard's files with their lengths, in the order in which they lie there."""
    shards: dict[str, dict[str, int]] = defaultdict(dict)
    for name, place in sorted(index.items(), key=lambda item: (item[1].shard, item[1].offset)):
        shards[place.shard][name] = place.length
    return (json.dumps({"shards": shards}, indent=0) + "\n").encode()


def _replace(path: Path, content: bytes) -> None:
    """The file appears whole or not at all."""
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
