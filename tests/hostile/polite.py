"""What a backend that tells the truth would say, by the path that it is asked for."""

from __future__ import annotations

import time
from typing import Any

Tree = Any


def answer_to(path: str) -> Tree:
    """A small, plausible answer of whichever backend has such a path."""
    now = time.time()
    if "buildinfo" in path:
        return {"status": "success", "data": {"version": "3.1.0"}}
    if "query_range" in path:
        points = [[now - 60 + 2 * i, str(0.1 * i)] for i in range(30)]
        labels = {"container": "cart", "service": "cart", "name": "cart", "job": "cart", "instance": "cart:80"}
        return {"status": "success", "data": {"resultType": "matrix", "result": [{"metric": labels, "values": points}]}}
    if "/api/services" in path:
        return {"data": ["cart", "orders"], "total": 2, "errors": None}
    if "/api/traces" in path:
        return {"data": [trace(now - 10 - n, n) for n in range(3)], "errors": None}
    if "_search" in path:
        return searched(now)
    if path.endswith("/version"):
        return {"ApiVersion": "1.44", "Version": "27.0", "MinAPIVersion": "1.24"}
    if "/containers/" in path:
        return [{"Id": "a" * 64, "Names": ["/shop-cart-1"], "State": "running", "Labels": {"com.docker.compose.service": "cart"}}]
    return {"tagline": "You Know, for Search", "version": {"number": "8.17.0", "build_flavor": "default"}, "name": "x"}


def trace(at: float, n: int) -> Tree:
    """A call of one service by another, as Jaeger writes it."""
    spans = []
    for i, (service, parent) in enumerate((("p1", None), ("p2", f"s{n}0"))):
        references = [{"refType": "CHILD_OF", "traceID": f"t{n}", "spanID": parent}] if parent else []
        tags = [{"key": "span.kind", "type": "string", "value": "client" if parent is None else "server"}]
        spans.append(
            {
                "traceID": f"t{n}",
                "spanID": f"s{n}{i}",
                "operationName": "GET /cart",
                "references": references,
                "startTime": int(at * 1e6) + i,
                "duration": 2_000_000 - i * 1000,
                "tags": tags,
                "logs": [],
                "processID": service,
            }
        )
    return {"traceID": f"t{n}", "spans": spans, "processes": {"p1": {"serviceName": "cart"}, "p2": {"serviceName": "orders"}}}


def searched(now: float) -> Tree:
    """A search with hits and the buckets that are asked for."""
    source = {
        "@timestamp": "2026-11-21T12:00:00Z",
        "message": "could not",
        "log": {"level": "error"},
        "service": {"name": "cart"},
    }
    times = [{"key": int((now - 60 + 2 * i) * 1000), "doc_count": i} for i in range(30)]
    return {
        "took": 1,
        "timed_out": False,
        "_shards": {"total": 1, "successful": 1, "failed": 0},
        "hits": {"total": {"value": 1, "relation": "eq"}, "hits": [{"_id": "1", "_index": "l", "_source": source, "sort": [1]}]},
        "aggregations": {
            "level": {"buckets": [{"key": "error", "doc_count": 5, "time": {"buckets": times}}]},
            "when": {"buckets": [{"key": "now", "doc_count": 3}, {"key": "before", "doc_count": 1}]},
        },
    }
