"""Traces as Tempo's API gives them: OpenTelemetry's JSON, in the forms that its versions have had."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from revelio.tools.traces.model import READ, Tag, Trace, TraceSpan, relate

_KINDS = {2: "server", 3: "client", 4: "producer", 5: "consumer"}
_MOST_NS = 10**21


def parse_trace(trace_id: str, answer: object) -> Trace:
    """One trace. Raises ``KeyError``, ``TypeError``, ``ValueError`` or ``AttributeError`` when it is none."""
    if not isinstance(answer, Mapping):
        raise TypeError("no trace")
    whole = answer.get("trace", answer)
    spans = [span for batch in whole.get("batches") or whole.get("resourceSpans") or () for span in _spans(trace_id, batch)]
    return relate(Trace(trace_id, sorted(spans, key=lambda s: s.start)))


def _spans(trace_id: str, batch: Mapping[str, Any]) -> Iterator[TraceSpan]:
    service = str(_attributes((batch.get("resource") or {}).get("attributes") or ()).get("service.name", "unknown"))
    for key in ("scopeSpans", "instrumentationLibrarySpans", "ilSpans"):
        for scope in batch.get(key) or ():
            for span in scope.get("spans") or ():
                yield _span(trace_id, service, span)


def _span(trace_id: str, service: str, span: Mapping[str, Any]) -> TraceSpan:
    start, end = _nanoseconds(span["startTimeUnixNano"]), _nanoseconds(span["endTimeUnixNano"])
    tags = {name: value for name, value in _attributes(span.get("attributes") or ()).items() if name in READ}
    kind, status = span.get("kind", ""), span.get("status") or {}
    tags["span.kind"] = _KINDS.get(kind, "internal") if isinstance(kind, int) else str(kind).removeprefix("SPAN_KIND_").lower()
    if status.get("code") in (2, "STATUS_CODE_ERROR"):
        tags["error"] = True
        if status.get("message"):
            tags["otel.status_description"] = str(status["message"])[:300]
    return TraceSpan(
        trace=trace_id,
        id=_identity(span["spanId"]),
        parent=_identity(span.get("parentSpanId") or "") or None,
        service=service,
        operation=str(span.get("name", "")),
        start=start / 1e9,
        duration_ms=max(0, end - start) / 1e6,
        tags=tags,
    )


def _attributes(listed: Any) -> dict[str, Tag]:
    found: dict[str, Tag] = {}
    for one in listed:
        value = one.get("value") or {}
        told = next((value[k] for k in ("stringValue", "intValue", "doubleValue", "boolValue") if k in value), None)
        if isinstance(told, str | int | float | bool):
            found[str(one["key"])] = told
    return found


def _identity(text: object) -> str:
    """A span's id in hexadecimal; Tempo writes it in base 64."""
    told = str(text)
    if len(told) == 16:
        return told.lower()
    try:
        return base64.b64decode(told, validate=True).hex()
    except (binascii.Error, ValueError):
        return told


def _nanoseconds(told: object) -> int:
    number = int(str(told))
    if not 0 <= number < _MOST_NS:
        raise ValueError("a time that is none")
    return number
