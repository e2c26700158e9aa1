"""Traces as Jaeger's API gives them."""

from __future__ import annotations

from revelio.tools.traces.model import READ, Trace, TraceSpan, relate


def parse_traces(answer: object) -> list[Trace]:
    """The traces of an ``/api/traces`` answer. Raises ``KeyError``, ``TypeError`` or ``ValueError`` when it is none."""
    if not isinstance(answer, dict) or not isinstance(answer["data"], list):
        raise TypeError("no list of traces")
    return [trace for item in answer["data"] if (trace := _trace(item)).spans]


def _trace(item: dict[str, object]) -> Trace:
    processes, spans = item["processes"], item["spans"]
    if not isinstance(processes, dict) or not isinstance(spans, list):
        raise TypeError("a trace without processes or spans")
    names = {str(key): str(value["serviceName"]) for key, value in processes.items()}
    trace = Trace(str(item["traceID"]), sorted((_span(s, names) for s in spans), key=lambda s: s.start))
    return relate(trace)


def _span(item: dict[str, object], names: dict[str, str]) -> TraceSpan:
    references, tags = item.get("references") or [], item.get("tags") or []
    if not isinstance(references, list) or not isinstance(tags, list):
        raise TypeError("a span whose references or tags are no list")
    parent = next((str(r["spanID"]) for r in references if r.get("traceID") == item["traceID"]), None)
    return TraceSpan(
        trace=str(item["traceID"]),
        id=str(item["spanID"]),
        parent=parent,
        service=names[str(item["processID"])],
        operation=str(item["operationName"]),
        start=_number(item["startTime"]) / 1e6,
        duration_ms=_number(item["duration"]) / 1e3,
        tags={t["key"]: t["value"] for t in tags if t["key"] in READ},
    )


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
        raise ValueError("a time that is none")
    return float(value)
