"""The index within the process: exact search by faiss, kept in one file beside the store.

The file is a copy: it is checked when it is read, and started empty when it is missing, damaged, or of another model.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import threading
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from revelio.encoders.report import Floats
from revelio.retrieval.index import Hit, Item

log = logging.getLogger(__name__)

_MAGIC = b"revelio-index/1\n"
_DIGEST = 32
_UNSAVED_SHARE = 0.02
"""The file is written once this share of the items changed, so that its size is not written for every item."""


class FaissIndex:
    """Vectors in memory and in a file. Writing replaces the file as a whole, so that a killed process leaves the old one."""

    def __init__(self, path: Path, key: str, dimension: int) -> None:
        """Read the file. ``key`` names the model whose vectors these are."""
        self._path, self._key, self._dimension = path, key, dimension
        self._lock = threading.RLock()
        self._unsaved = 0
        self._ids: list[str] = []
        self._groups: list[str] = []
        self._index: Any = _empty(dimension)
        self._read()

    def ids(self) -> frozenset[str]:
        """The ids of all items."""
        with self._lock:
            return frozenset(self._ids)

    def add(self, items: Iterable[Item]) -> None:
        """Add items, in place of those with the same ids."""
        latest = {item.id: item for item in items}
        if not latest:
            return
        with self._lock:
            self._drop(latest.keys())
            self._append(list(latest.values()))
            self._changed(len(latest))

    def remove(self, ids: Collection[str]) -> None:
        """Remove items; ids that are not there are ignored."""
        with self._lock:
            self._changed(self._drop(frozenset(ids)))

    def rebuild(self, items: Iterable[Item]) -> None:
        """Replace everything. Until it is done, searches find what was there."""
        latest = list({item.id: item for item in items}.values())
        with self._lock:
            self._ids, self._groups, self._index = [], [], _empty(self._dimension)
            self._append(latest)
            self._save()

    def search(self, vector: Floats, k: int, *, inside: str | None = None, outside: str | None = None) -> tuple[Hit, ...]:
        """The ``k`` items with the largest cosine, best first."""
        with self._lock:
            wanted = [
                place
                for place, group in enumerate(self._groups)
                if (inside is None or group == inside) and (outside is None or group != outside)
            ]
            if not wanted or k < 1:
                return ()
            scores, places = self._index.search(vector[None], min(k, len(wanted)), params=_only(wanted))
            found = zip(places[0].tolist(), scores[0].tolist(), strict=True)
            return tuple(Hit(self._ids[place], score) for place, score in found if place >= 0)

    def close(self) -> None:
        """Save what is not saved yet."""
        with self._lock:
            if self._unsaved:
                self._save()

    def _append(self, items: Sequence[Item]) -> None:
        if items:
            self._index.add(np.stack([item.vector for item in items]).astype(np.float32))
            self._ids += [item.id for item in items]
            self._groups += [item.group for item in items]

    def _drop(self, ids: Collection[str]) -> int:
        gone = [place for place, name in enumerate(self._ids) if name in ids]
        if gone:
            self._index.remove_ids(np.array(gone, dtype=np.int64))
            dropped = set(gone)
            self._ids = [name for place, name in enumerate(self._ids) if place not in dropped]
            self._groups = [group for place, group in enumerate(self._groups) if place not in dropped]
        return len(gone)

    def _changed(self, count: int) -> None:
        self._unsaved += count
        if self._unsaved and self._unsaved >= _UNSAVED_SHARE * len(self._ids):
            self._save()

    def _save(self) -> None:
        import faiss  # noqa: PLC0415  half a second that only retrieval pays

        head = {"key": self._key, "dimension": self._dimension, "ids": self._ids, "groups": self._groups}
        line = json.dumps(head, ensure_ascii=True).encode() + b"\n"
        body = line + faiss.serialize_index(self._index).tobytes()
        try:
            _replace(self._path, _MAGIC + hashlib.sha256(body).digest() + body)
            self._unsaved = 0
        except OSError as error:
            log.warning("%s cannot be written: %s; similar incidents are indexed again after a restart", self._path, error)

    def _read(self) -> None:
        import faiss  # noqa: PLC0415

        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            log.warning("%s cannot be read: %s; it is built again", self._path, error)
            return
        start = len(_MAGIC) + _DIGEST
        body = data[start:]
        if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
            log.warning("%s is damaged; it is built again", self._path)
            return
        line, _, vectors = body.partition(b"\n")
        head = json.loads(line)
        if (head["key"], head["dimension"]) != (self._key, self._dimension):
            log.info("%s belongs to the model %s; it is built again for %s", self._path, head["key"], self._key)
            return
        self._index = faiss.deserialize_index(np.frombuffer(vectors, dtype=np.uint8))
        self._ids, self._groups = head["ids"], head["groups"]


def _empty(dimension: int) -> Any:
    import faiss  # noqa: PLC0415

    return faiss.IndexFlatIP(dimension)


def _only(places: Sequence[int]) -> Any:
    import faiss  # noqa: PLC0415

    engine: Any = faiss  # whose types lack the argument
    return engine.SearchParameters(sel=faiss.IDSelectorBatch(np.array(places, dtype=np.int64)))


def _replace(path: Path, data: bytes) -> None:
    """Write the file as a whole, readable by its owner alone: vectors tell something of the reports that they are of."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
