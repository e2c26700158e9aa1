"""Revelio's own log: one line per record, with the id of the request that it belongs to."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any, Literal

from asgi_correlation_id import correlation_id
from opentelemetry import trace
from pythonjsonlogger.json import JsonFormatter

from revelio.errors.clean_text import printable
from revelio.errors.redaction import redact


class JsonLines(JsonFormatter):
    """One JSON object per line, in the names of the Elastic Common Schema."""

    def __init__(self) -> None:
        """The fields that every line has."""
        super().__init__(
            ["levelname", "name", "message"],
            rename_fields={"levelname": "log.level", "name": "log.logger", "exc_info": "error.stack_trace"},
            static_fields={"service.name": "revelio"},
            timestamp="@timestamp",
            json_ensure_ascii=False,
        )

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        """Add the ids of the request and of the span in progress."""
        log_data = {k: redact(v) if isinstance(v, str) else v for k, v in log_data.items()}
        if correlation_id.get():
            log_data["http.request.id"] = correlation_id.get()
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            log_data["trace.id"], log_data["span.id"] = f"{span.trace_id:032x}", f"{span.span_id:016x}"
        return log_data


class TextLines(logging.Formatter):
    """A line for people. Line breaks in a message are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, followed by the traceback if the record has one."""
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        request = f" [{correlation_id.get()}]" if correlation_id.get() else ""
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        line = f"{at} {record.levelname}{request} {record.name}: {message}"
        return printable(redact(f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line))


_TOLD_ANYWAY = ("urllib3", "elastic_transport", "docker", "redis", "psycopg")
"""Libraries that warn, with tracebacks, of what a backend did wrong: its tool says it in a sentence."""


def start_logs(form: Literal["text", "json"] | str) -> None:
    """Log to standard error: as text, warnings; as JSON, also one line per request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for library in _TOLD_ANYWAY:
        logging.getLogger(library).setLevel(logging.ERROR)
    for own in ("revelio", "webui"):
        logging.getLogger(own).setLevel(logging.INFO if form == "json" else logging.WARNING)
