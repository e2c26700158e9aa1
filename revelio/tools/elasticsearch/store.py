"""The requests that logs are searched with: to Elasticsearch through its official client, to OpenSearch over plain HTTP.

Each returns the answer's JSON, or raises ``SourceError``: ``StatusError`` for a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits
from revelio.tools.fetch import Fetcher

if TYPE_CHECKING:
    from revelio.tools.elasticsearch.client import Client


class ElasticsearchStore:
    """An Elasticsearch of one or several nodes."""

    def __init__(self, source: str, backend: Backend, limits: Limits) -> None:
        """Connects to nothing, and loads no client yet."""
        self._settings = (source, backend, limits)

    @cached_property
    def _client(self) -> Client:
        from revelio.tools.elasticsearch.client import Client  # noqa: PLC0415  takes half a second to import

        return Client(*self._settings)

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether its clock disagrees."""
        return self._client.notes if "_client" in self.__dict__ else ()

    def health(self) -> object:
        """The state of the cluster."""
        with self._client.asking() as elasticsearch:
            return elasticsearch.cluster.health().body

    def fields(self, index: str) -> object:
        """The fields of its documents, and their types."""
        with self._client.asking() as elasticsearch:
            return elasticsearch.field_caps(index=index, fields="*", ignore_unavailable=True).body

    def search(self, index: str, request: Mapping[str, Any]) -> object:
        """Hits and aggregations; the request is written as the body of ``_search``."""
        with self._client.asking() as elasticsearch:
            return elasticsearch.search(index=index, **request).body

    def esql(self, query: str, filtered: Mapping[str, Any]) -> object:
        """The rows of an ES|QL query over the documents that a search finds."""
        with self._client.asking() as elasticsearch:
            return elasticsearch.esql.query(query=query, filter=filtered).body

    def close(self) -> None:
        """Close the connections."""
        if "_client" in self.__dict__:
            self._client.close()


class OpenSearchStore:
    """An OpenSearch, which the client of Elasticsearch refuses to ask."""

    def __init__(self, source: str, backend: Backend, limits: Limits) -> None:
        """Connects to nothing yet."""
        self._fetch = Fetcher(source, backend, limits)
        self.close = self._fetch.close

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether its clock disagrees."""
        return self._fetch.notes

    def health(self) -> object:
        """The state of the cluster."""
        return self._fetch.get("/_cluster/health", {})

    def fields(self, index: str) -> object:
        """The fields of its documents, and their types."""
        return self._fetch.get(f"/{_quoted(index)}/_field_caps", {"fields": "*", "ignore_unavailable": "true"})

    def search(self, index: str, request: Mapping[str, Any]) -> object:
        """Hits and aggregations."""
        return self._fetch.send(f"/{_quoted(index)}/_search", request)

    def esql(self, query: str, filtered: Mapping[str, Any]) -> object:
        """Not spoken here."""
        raise SourceError(self._fetch.source, "the query is in ES|QL, which OpenSearch does not speak; write a mapping")


Store = ElasticsearchStore | OpenSearchStore


def _quoted(index: str) -> str:
    return quote(index, safe=",*")
