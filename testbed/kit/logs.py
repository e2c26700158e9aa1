"""ECS JSON log lines on standard output, each with the trace it belongs to."""

from __future__ import annotations

import logging
import sys

import ecs_logging
from opentelemetry import trace


class TraceContext(logging.Filter):
    """Adds trace.id and span.id of the current span."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Never drops a record."""
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            record.__dict__["trace.id"] = format(context.trace_id, "032x")
            record.__dict__["span.id"] = format(context.span_id, "016x")
        return True


def start_logs(service: str, version: str) -> None:
    """One handler on the root logger; chatty libraries only warn."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        ecs_logging.StdlibFormatter(
            exclude_fields=["process", "log.original", "log.origin.function"],
            extra={"service": {"name": service, "version": version}},
        )
    )
    handler.addFilter(TraceContext())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("httpx", "httpcore", "uvicorn.access", "opentelemetry"):
        logging.getLogger(name).setLevel(logging.WARNING)
