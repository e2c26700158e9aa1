"""Traces as Jaeger's query API writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

_IDS = count(1)


@dataclass
class FakeSpan:
    """One span; ``start_ms`` counts from the trace's start."""

    service: str
    operation: str
    start_ms: float = 0.0
    ms: float = 10.0
    kind: str = "server"
    error: bool = False
    children: list[FakeSpan] = field(default_factory=list)
    tags: dict[str, str | int | bool] = field(default_factory=dict)


def trace(root: FakeSpan, at: float) -> dict[str, object]:
    """A whole trace that began at ``at`` (Unix seconds)."""
    identity = f"{next(_IDS):032x}"
    services: dict[str, str] = {}
    spans: list[dict[str, object]] = []

    def add(span: FakeSpan, parent: str | None, start_ms: float) -> None:
        process = services.setdefault(span.service, f"p{len(services) + 1}")
        own = f"{next(_IDS):016x}"
        tags = {"span.kind": span.kind, **span.tags, **({"error": True} if span.error else {})}
        spans.append(
            {
                "traceID": identity,
                "spanID": own,
                "operationName": span.operation,
                "references": [{"refType": "CHILD_OF", "traceID": identity, "spanID": parent}] if parent else [],
                "startTime": int(at * 1e6 + start_ms * 1e3),
                "duration": int(span.ms * 1e3),
                "tags": [{"key": k, "type": "string", "value": v} for k, v in tags.items()],
                "logs": [],
                "processID": process,
                "warnings": None,
            }
        )
        for child in span.children:
            add(child, own, start_ms + child.start_ms)

    add(root, None, root.start_ms)
    processes = {p: {"serviceName": s, "tags": []} for s, p in services.items()}
    return {"traceID": identity, "spans": spans, "processes": processes, "warnings": None}


def answer(*traces: dict[str, object]) -> dict[str, object]:
    """An ``/api/traces`` answer."""
    return {"data": list(traces), "total": 0, "limit": 0, "offset": 0, "errors": None}


def shop_trace(at: float, cart_ms: float = 8.0, redis_ms: float = 2.0, *, failed: bool = False) -> dict[str, object]:
    """gateway -> cart -> redis, as the shop's services tell it."""
    redis = FakeSpan("cart", "HGETALL", 1.0, redis_ms, "client", tags={"net.peer.name": "redis", "db.system": "redis"})
    cart = FakeSpan(
        "cart", "GET /carts/{session}", 1.0, cart_ms, "server", failed, [redis], {"http.status_code": 500 if failed else 200}
    )
    call = FakeSpan("gateway", "GET cart", 2.0, cart_ms + 3.0, "client", failed, [cart], {"peer.service": "cart"})
    return trace(FakeSpan("gateway", "GET /cart", 0.0, cart_ms + 8.0, "server", failed, [call]), at)
