"""Evidence snapshots, stored once however many answers use them."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from threading import Lock

from cachetools import LRUCache, cached
from pydantic import ConfigDict, TypeAdapter
from sqlalchemy import Connection, bindparam, delete, exists, insert, select
from sqlalchemy.exc import IntegrityError

from revelio.encoders.identity_cache import cached_by_identity
from revelio.store.tables import RecommendationRow, SnapshotRow
from revelio.types import Evidence

# NaN and infinity have to survive, and a bare dataclass takes no configuration: hence the tuple of one.
_EVIDENCE: TypeAdapter[tuple[Evidence]] = TypeAdapter(tuple[Evidence], config=ConfigDict(ser_json_inf_nan="constants"))

_THERE = select(SnapshotRow.digest).where(SnapshotRow.digest == bindparam("digest")).with_for_update(read=True, key_share=True)


class Snapshots:
    """Evidence by the SHA-256 of its JSON. Safe to share between threads; the last few are remembered, written and read."""

    def __init__(self) -> None:
        """They stand in the database of whatever connection is given."""
        self._write = cached_by_identity(_written)
        # What was written or read before is the same value when it is read again, which the encoders recognise.
        self._by_text: LRUCache[str, Evidence] = LRUCache(8)
        self._lock = Lock()
        self._read = cached(self._by_text, key=lambda text: text, lock=self._lock)(_read)

    def keep(self, connection: Connection, evidence: Evidence) -> str:
        """Store it and return its digest; until the transaction ends it cannot be deleted."""
        digest, text = self._write(evidence)
        with self._lock:
            self._by_text.setdefault(text, evidence)
        while connection.scalar(_THERE, {"digest": digest}) is None:
            # Another server may be keeping the same one at this moment.
            with suppress(IntegrityError), connection.begin_nested():
                connection.execute(insert(SnapshotRow), {"digest": digest, "evidence": text})
        return digest

    def read(self, text: str) -> Evidence:
        """The evidence of a row; ``ValidationError`` when it is damaged."""
        return self._read(text)


def forget_unused(connection: Connection) -> None:
    """Delete the evidence that no answer was given on."""
    unused = ~exists().where(RecommendationRow.snapshot == SnapshotRow.digest)
    # Locked first, so that the second statement sees an answer that is being saved on one of them.
    some = connection.scalars(select(SnapshotRow.digest).where(unused).with_for_update()).all()
    for digest in some:
        connection.execute(delete(SnapshotRow).where(SnapshotRow.digest == digest, unused))


def _written(evidence: Evidence) -> tuple[str, str]:
    data = _EVIDENCE.dump_json((evidence,))
    return hashlib.sha256(data).hexdigest(), data.decode()


def _read(text: str) -> Evidence:
    return _EVIDENCE.validate_json(text)[0]
