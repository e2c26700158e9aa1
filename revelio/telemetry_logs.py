"""Revelio's own log: a line a record, with the id of the request that it belongs to."""

from __future__ import annotations

import json
import logging
import sys
import time
from contextvars import ContextVar
from typing import Literal

from opentelemetry import trace

request_id: ContextVar[str] = ContextVar("revelio_request_id", default="")
"""The id of the request that is worked on; "" outside of one."""


class JsonLines(logging.Formatter):
    """One JSON object a line, in the names of the Elastic Common Schema."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {
            "@timestamp": f"{at}.{int(record.msecs):03d}Z",
            "log.level": record.levelname,
            "log.logger": record.name,
            "message": record.getMessage(),
            "service.name": "revelio",
        }
        if request_id.get():
            line["http.request.id"] = request_id.get()
        span = trace.get_current_span().get_span_context()
        if span.is_valid:
            line["trace.id"], line["span.id"] = f"{span.trace_id:032x}", f"{span.span_id:016x}"
        if record.exc_info:
            line["error.stack_trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class TextLines(logging.Formatter):
    """A line for people. What was logged cannot begin a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and below it the traceback where there is one."""
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        request = f" [{request_id.get()}]" if request_id.get() else ""
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        line = f"{at} {record.levelname}{request} {record.name}: {message}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def start_logs(form: Literal["text", "json"] | str) -> None:
    """Send the log to standard error: warnings in text for people, and in JSON a line for every request as well."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for own in ("revelio", "webui"):
        logging.getLogger(own).setLevel(logging.INFO if form == "json" else logging.WARNING)
