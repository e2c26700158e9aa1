"""Revelio's own metrics, in Prometheus form."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """One registry per application, so that two in one process do not share counts."""

    def __init__(self) -> None:
        """All at zero."""
        self.registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self.requests = Histogram(
            "revelio_http_request_duration_seconds", "HTTP requests", labels, buckets=_SECONDS, registry=self.registry
        )
        self.recommendations = Counter(
            "revelio_recommendations", "Recommendations made", ("degraded", "abstained"), registry=self.registry
        )
        self.runs = Counter("revelio_query_runs", "Queries run", ("tool", "outcome"), registry=self.registry)
        self.feedback = Counter("revelio_feedback", "Feedback saved", ("verdict",), registry=self.registry)
        self.ready = Gauge("revelio_ready", "1 when model and database are usable", registry=self.registry)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)
