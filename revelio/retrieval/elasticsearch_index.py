"""The index that several servers share: ``dense_vector`` fields and approximate kNN of an Elasticsearch 8.

Searches and writes go through an alias. A rebuild fills an index of its own and moves the alias in one step.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from elastic_transport import TransportError
from elastic_transport.client_utils import DEFAULT
from elasticsearch import ApiError, Elasticsearch
from elasticsearch.helpers import BulkIndexError, scan, streaming_bulk

from revelio.encoders.report import Floats
from revelio.errors import SourceError
from revelio.retrieval.index import Hit, Item
from revelio.settings.retrieval import RetrievalSettings
from revelio.tools.access import Access

log = logging.getLogger(__name__)

_NAME = "elasticsearch (retrieval)"
_CANDIDATES = 500
"""Neighbours that each shard collects at least: more than are wanted, because the search is approximate."""
_OVERSAMPLE = 3.0
"""The neighbours found among quantized vectors are ranked again with the exact ones: so many times more than are wanted."""
_BATCH = 500


class ElasticsearchIndex:
    """Vectors in an Elasticsearch. ``SourceError`` when it does not answer as it should."""

    def __init__(self, settings: RetrievalSettings, key: str, dimension: int, timeout_s: float) -> None:
        """Make the index where it is missing. ``key`` names the model whose vectors these are; each model has its own index."""
        access = Access(_NAME, settings.url, settings)
        self._client = Elasticsearch(
            settings.url,
            headers=access.headers(),
            request_timeout=timeout_s,
            max_retries=1,
            ssl_context=access.context() or DEFAULT,
        )
        self._dimension = dimension
        self._url = settings.url
        self._alias = f"{settings.index}-incidents-{_digest(f'{key} {dimension}')}"
        self._lock = threading.Lock()
        with self._answering():
            if not self._client.indices.exists_alias(name=self._alias):
                self._start()

    def ids(self) -> frozenset[str]:
        """The ids of all items."""
        with self._answering():
            found = scan(self._client, index=self._alias, _source=False, size=5_000)
            return frozenset(hit["_id"] for hit in found)

    def add(self, items: Iterable[Item]) -> None:
        """Add items, in place of those with the same ids."""
        with self._answering():
            self._write(self._alias, items)
            self._client.indices.refresh(index=self._alias)

    def remove(self, ids: Collection[str]) -> None:
        """Remove items; ids that are not there are ignored."""
        with self._answering():
            gone = ({"_op_type": "delete", "_index": self._alias, "_id": name} for name in ids)
            for ok, told in streaming_bulk(self._client, gone, raise_on_error=False):
                if not ok and told["delete"]["status"] != 404:
                    raise SourceError(_NAME, f"an incident could not be removed: {told['delete'].get('error')}")
            self._client.indices.refresh(index=self._alias)

    def rebuild(self, items: Iterable[Item]) -> None:
        """Replace everything. Until it is done, searches find what was there."""
        with self._lock, self._answering():
            fresh = self._create()
            try:
                self._write(fresh, items)
                self._client.indices.refresh(index=fresh)
                before = [name for name in self._client.indices.get_alias(name=self._alias) if name != fresh]
                actions: list[dict[str, Any]] = [{"remove_index": {"index": name}} for name in before]
                self._client.indices.update_aliases(actions=[{"add": {"index": fresh, "alias": self._alias}}, *actions])
            except BaseException:
                self._client.options(ignore_status=404).indices.delete(index=fresh)
                raise

    def search(self, vector: Floats, k: int, *, inside: str | None = None, outside: str | None = None) -> tuple[Hit, ...]:
        """The ``k`` items with the largest cosine, best first; approximately, as Elasticsearch searches."""
        if k < 1 or not vector.any():
            return ()
        only: list[dict[str, Any]] = []
        if inside is not None:
            only.append({"term": {"group": inside}})
        if outside is not None:
            only.append({"bool": {"must_not": {"term": {"group": outside}}}})
        knn = {
            "field": "vector",
            "query_vector": vector.tolist(),
            "k": k,
            "num_candidates": max(_CANDIDATES, 10 * k),
            "filter": only,
            "rescore_vector": {"oversample": _OVERSAMPLE},
        }
        with self._answering():
            found = self._client.search(index=self._alias, knn=knn, size=k, source=False)
        return tuple(Hit(hit["_id"], 2.0 * hit["_score"] - 1.0) for hit in found["hits"]["hits"])

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()

    def _start(self) -> None:
        fresh = self._create()
        self._client.indices.update_aliases(actions=[{"add": {"index": fresh, "alias": self._alias}}])

    def _create(self) -> str:
        name = f"{self._alias}-{secrets.token_hex(4)}"
        vector: dict[str, Any] = {"type": "dense_vector", "dims": self._dimension, "index": True, "similarity": "dot_product"}
        vector["index_options"] = {"type": "int8_hnsw"}  # a quarter of the memory
        properties = {"group": {"type": "keyword"}, "vector": vector}
        self._client.indices.create(index=name, mappings={"dynamic": "strict", "properties": properties})
        return name

    def _write(self, index: str, items: Iterable[Item]) -> None:
        documents = (
            {"_index": index, "_id": i.id, "group": i.group, "vector": i.vector.tolist()}
            for i in items
            if i.vector.any()  # Elasticsearch takes no vector without a direction
        )
        for _ in streaming_bulk(self._client, documents, chunk_size=_BATCH):
            pass

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except BulkIndexError as error:
            raise SourceError(
                _NAME, f"{len(error.errors)} incidents could not be written: {str(error.errors[0])[:300]}"
            ) from error
        except (ApiError, TransportError) as error:
            raise SourceError(_NAME, f"{self._url} does not do what it was asked: {str(error)[:300]}") from error


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]
