"""The official Elasticsearch client over this project's own HTTP: its limits, credentials and redaction, and no redirects.

Importing this module loads the client, which takes half a second: do so where an Elasticsearch is about to be asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from elastic_transport import ApiResponseMeta, BaseNode, HttpHeaders, NodeConfig
from elastic_transport import ConnectionError as NodeError
from elastic_transport import ConnectionTimeout as NodeTimeoutError
from elasticsearch import ApiError, Elasticsearch, TransportError, UnsupportedProductError
from elasticsearch.serializer import JsonSerializer

from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.support.deadline import end, until
from revelio.tools.base import Limits
from revelio.tools.fetch import Fetcher, NoAnswerError, TooLargeError

_FETCHER = "_revelio_fetcher"


class Client:
    """The nodes of one Elasticsearch. Safe to share between threads.

    ``with client.asking() as elasticsearch: elasticsearch.search(...)``
    """

    def __init__(self, source: str, backend: Backend, limits: Limits) -> None:
        """Nothing is connected yet. A node that cannot be reached leaves time for the others."""
        self.source = source
        self.limits = limits
        urls = backend.addresses
        connect_s = limits.seconds / len(urls) if len(urls) > 1 else None
        self._nodes = [Fetcher(source, backend.model_copy(update={"url": url}), limits, connect_s) for url in urls]

    @contextmanager
    def asking(self) -> Iterator[Elasticsearch]:
        """The official client, for requests that are over within the limit of time, whatever number of nodes they try.

        Whatever it raises becomes a ``SourceError`` that says what to do; a refusal is a ``StatusError``.
        """
        try:
            with until(end(self.limits.seconds)):
                yield self._client
        except UnsupportedProductError as error:
            raise self._other_product(error.meta) from error
        except ApiError as error:
            raise self._refused(error.meta, error.body) from error
        except TransportError as error:
            raise self._failed(error) from error

    @property
    def notes(self) -> tuple[str, ...]:
        """Whether the clock of a node disagrees with the one here."""
        return tuple(dict.fromkeys(note for node in self._nodes for note in node.notes))

    def close(self) -> None:
        """Close all connections."""
        for node in self._nodes:
            node.close()

    @cached_property
    def _client(self) -> Elasticsearch:
        return Elasticsearch(
            [_config(node) for node in self._nodes],
            node_class=_Node,
            serializers={"application/json": _Json()},
            max_retries=len(self._nodes) - 1,  # each node once
        )

    def _refused(self, meta: ApiResponseMeta, body: object) -> SourceError:
        # OpenSearch, and Elasticsearch 7, refuse the form in which the client asks.
        if meta.status in (400, 406, 415) and "compatible-with" in str(body):
            return self._other_product(meta)
        return _fetcher(meta.node).failure(meta.status, body or "")

    def _other_product(self, meta: ApiResponseMeta) -> SourceError:
        return SourceError(
            self.source,
            f"{_fetcher(meta.node).url} does not answer like Elasticsearch 8 or later; is its url right? "
            'For OpenSearch or an older Elasticsearch, set product = "opensearch" of its backend; '
            "a proxy in between has to let the header X-Elastic-Product through",
        )

    def _failed(self, last: TransportError) -> SourceError:
        causes = [error.__cause__ for error in (*last.errors, last)]
        failures = [cause for cause in causes if isinstance(cause, SourceError)]
        if len(failures) == 1:
            return failures[0]
        reasons = "; ".join(sorted(failure.reason for failure in failures)) or type(last).__name__
        return SourceError(self.source, f"none of its {len(self._nodes)} nodes answers: {reasons}")


class _Node(BaseNode):
    """One node, asked through its ``Fetcher``."""

    def perform_request(
        self,
        method: str,
        target: str,
        body: bytes | None = None,
        headers: HttpHeaders | None = None,
        request_timeout: object = None,
    ) -> Any:
        """What the node answers, parsed while a large body has its turn. The limits say how long it may take."""
        fetch = _fetcher(self.config)
        try:
            with fetch.answered(method, target, content=body, headers={**self.headers, **(headers or {})}) as answer:
                # The client would print each warning of a server, which is for its operators.
                kept = HttpHeaders({name: value for name, value in answer.headers.items() if name != "warning"})
                kept["content-type"] = "application/json"
                meta = ApiResponseMeta(answer.status, "1.1", kept, 0.0, self.config)
                return _Response(meta, fetch.parsed(answer) if answer.body else None)
        except TooLargeError:
            raise
        except NoAnswerError as error:
            raise NodeTimeoutError(error.reason) from error
        except SourceError as error:
            raise NodeError(error.reason) from error


class _Response(NamedTuple):
    meta: ApiResponseMeta
    body: object


class _Json(JsonSerializer):
    """JSON as the rest of Revelio writes it: what no UTF-8 can say becomes "?"."""

    def loads(self, data: object) -> object:
        """The answer, which its node has parsed."""
        return data

    def json_dumps(self, data: object) -> bytes:
        """The bytes of a request."""
        return json.dumps(data, default=self.default, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _config(node: Fetcher) -> NodeConfig:
    try:
        parts = urlsplit(node.url)
        port = parts.port or {"https": 443}.get(parts.scheme, 80)
        return NodeConfig(parts.scheme, parts.hostname or "", port, parts.path, _extras={_FETCHER: node})
    except ValueError as error:
        raise node.unreachable(error) from error


def _fetcher(node: NodeConfig) -> Fetcher:
    return cast(Fetcher, node._extras[_FETCHER])
