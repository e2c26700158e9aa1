"""ECS JSON log lines on standard output, each with the trace it belongs to."""

from __future__ import annotations

import logging
import sys
from typing import Any

import ecs_logging
from opentelemetry import trace


class Formatter(ecs_logging.StdlibFormatter):
    """ECS with the level's usual name (ERROR) and the ids of the current span."""

    def format_to_ecs(self, record: logging.LogRecord) -> dict[str, Any]:
        """One log line as a document."""
        line: dict[str, Any] = super().format_to_ecs(record)
        line["log"]["level"] = record.levelname
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            line["trace"] = {"id": format(context.trace_id, "032x")}
            line["span"] = {"id": format(context.span_id, "016x")}
        return line


def start_logs(service: str, version: str) -> None:
    """One handler on the root logger; chatty libraries only warn."""
    handler = logging.StreamHandler(sys.stdout)
    named = {"service": {"name": service, "version": version}}
    handler.setFormatter(Formatter(exclude_fields=["process", "log.original", "log.origin.function"], extra=named))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for name in ("httpx", "httpcore", "uvicorn", "uvicorn.error", "opentelemetry"):
        logging.getLogger(name).setLevel(logging.WARNING)
