"""What a log line says, whichever schema it was written in: ECS, OpenTelemetry, Kubernetes, or a logger's own JSON or text.

One table of names serves whole documents, JSON lines and `key=value` lines. A schema is found out from the names that are
there, so nobody has to say which one it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from revelio.tools.log_patterns import LogRecord, level_of

SERVICE = (
    "service.name",
    "resource.attributes.service.name",
    "resource.service.name",
    "service_name",
    "service",
    "container.labels.com_docker_compose_service",
    "docker.container.labels.com_docker_compose_service",
    "kubernetes.labels.app_kubernetes_io/name",
    "kubernetes.labels.app_kubernetes_io_name",
    "kubernetes.labels.app",
    "kubernetes.deployment.name",
    "kubernetes.container.name",
    "kubernetes.container_name",
    "k8s.deployment.name",
    "k8s.container.name",
    "container.name",
    "container_name",
    "docker.container.name",
    "app",
    "application",
    "app_name",
    "program",
    "process.name",
    "log.file.path",
    "tags",
)
PROJECT = (
    "container.labels.com_docker_compose_project",
    "docker.container.labels.com_docker_compose_project",
    "kubernetes.namespace",
    "kubernetes.namespace_name",
    "kubernetes.labels.app_kubernetes_io/part-of",
    "k8s.namespace.name",
    "resource.attributes.k8s.namespace.name",
    "service.namespace",
    "resource.attributes.service.namespace",
    "project",
)
"""Fields that tell the systems of one store apart."""
LEVEL = ("log.level", "severity_text", "severity", "level", "loglevel", "log_level", "lvl", "levelname", "log.severity")
MESSAGE = ("message", "body.text", "body.string", "body", "msg", "log", "event", "MESSAGE", "short_message")
TRACE = ("trace.id", "trace_id", "traceId", "traceID", "TraceId", "otelTraceID", "dd.trace_id")
ERROR = (
    "error.type",
    "attributes.exception.type",
    "exception.type",
    "exception_type",
    "exception.class",
    "exception_class",
    "error.kind",
    "err.type",
    "exc_type",
)
FILE = (
    "log.origin.file.name",
    "attributes.code.file.path",
    "attributes.code.filepath",
    "code.filepath",
    "caller",
    "source",
    "file",
)
LINE = ("log.origin.file.line", "attributes.code.line.number", "attributes.code.lineno", "code.lineno", "line")
TIME = ("@timestamp", "timestamp", "time", "ts", "observed_timestamp")

ERRORS = frozenset({"error", "err", "critical", "crit", "fatal", "panic", "alert", "emerg", "emergency", "severe"})
WARNINGS = frozenset({"warning", "warn"})
_CANONICAL = {**dict.fromkeys(ERRORS, "ERROR"), **dict.fromkeys(WARNINGS, "WARNING")}
_OTHERS = {"information": "INFO", "informational": "INFO", "notice": "INFO", "unknown": "", "verbose": "DEBUG", "finest": "DEBUG"}
_LETTERS = {"E": "ERROR", "F": "ERROR", "C": "ERROR", "W": "WARNING", "I": "INFO", "D": "DEBUG"}
_PINO = ((50, "ERROR"), (40, "WARNING"), (30, "INFO"), (0, "DEBUG"))

_MOST = 16_000
"""Characters of a line that are read as JSON."""
_MOST_PAIRS = 4_000
_MAX_FIELDS = 200

_CRI = re.compile(r"\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) [FP] ")
_PAIR = re.compile(r'(?:^|\s)([A-Za-z_][\w.@-]{0,60})=("(?:[^"\\]|\\.){0,1000}"|[^\s"]{0,1000})')
_WORD = re.compile(
    r"(?i)(?:^|[\s\[(<|:\"])(trace|debug|info|notice|warn|warning|err|error|critical|crit|fatal|panic|severe|emerg|alert)"
    r"(?=[\s\])>|:,;\"]|$)"
)
_KLOG = re.compile(r"([IWEF])\d{4} \d\d:\d\d:\d\d")
_HEAD = 120
"""Characters at the start of a line of text in which its level stands."""

_EXCEPTION = re.compile(r"\b([A-Za-z_][\w.]{0,120}?(?:Error|Exception|Failure|Timeout|Interrupt|Fault|Refused))\b(?=[:\s(\])]|$)")
_PANIC = re.compile(r"(?i)\b(panic|segmentation fault|out of memory)\b")
_ORIGIN = re.compile(
    r"(?:File \"([^\"]{1,200})\", line (\d+)|\(([\w$.-]{1,100}\.\w{1,5}):(\d+)\)"
    r"|\b([\w/.-]{1,100}\.(?:go|py|js|ts|rb|rs|php|java)):(\d+))"
)

EXCEPTION_WORDS = r"(?i)(exception|error:|panic|traceback|segmentation fault)"
"""What a line about an exception says somewhere, for languages that search by a regular expression."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The names under which a store keeps what is asked for; "" where it has none."""

    service: str = ""
    level: str = ""
    message: str = ""
    trace: str = ""
    error: str = ""
    file: str = ""
    line: str = ""
    time: str = ""

    @property
    def title(self) -> str:
        """What people call it."""
        if self.level == "severity_text":
            return "OpenTelemetry"
        if self.service.startswith(("kubernetes.", "k8s.")):
            return "Kubernetes"
        return "ECS" if self.level == "log.level" else "plain"


def schema_of(names: Iterable[str]) -> Schema:
    """The schema whose names are there."""
    there = frozenset(names)

    def first(known: tuple[str, ...]) -> str:
        return next((name for name in known if name in there), "")

    return Schema(*map(first, (SERVICE, LEVEL, MESSAGE, TRACE, ERROR, FILE, LINE, TIME)))


def canonical(level: str) -> str:
    """A level as one of ERROR, WARNING, INFO, DEBUG, whatever a logger calls it, a number of pino's or of syslog's included."""
    text = level.strip()
    lower = text.lower()
    if text in _LETTERS:
        return _LETTERS[text]
    if lower in _CANONICAL:
        return _CANONICAL[lower]
    if lower in _OTHERS:
        return _OTHERS[lower]
    if text.isdecimal():
        number = int(text[:4])
        if number >= 10:
            return next(name for least, name in _PINO if number >= least)
        return "ERROR" if number <= 3 else "WARNING" if number == 4 else "INFO"
    return level_of(text) if text else ""


def begins_with_level(text: str) -> bool:
    """Whether a line begins with the letter of its level, as klog writes them."""
    return _KLOG.match(text) is not None


def read_line(text: str, at: float, labels: Mapping[str, str], source: str) -> LogRecord:
    """One line as a store keeps it: its text, and what is known beside it. Never raises."""
    text = _CRI.sub("", text, count=1)
    inner = _fields(text)
    told = {**inner, **{k: v for k, v in labels.items() if v}}
    message = _first(inner, MESSAGE) or text
    level = canonical(_first(inner, LEVEL) or _first(labels, ("detected_level", *LEVEL))) or _level_in(message)
    error = _first(told, ERROR) or _error_in(text if level == "ERROR" else "")
    file, line = _first(inner, FILE), _first(inner, LINE)
    return LogRecord(
        at=at,
        source=source,
        level=level or "INFO",
        message=message,
        trace=_first(told, TRACE),
        error=error,
        origin=f"{file}:{line}" if file and line else file or (_origin_in(text) if error else ""),
    )


def _first(fields: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((fields[name] for name in names if fields.get(name)), "")


def _fields(text: str) -> dict[str, str]:
    """The fields of a JSON or `key=value` line under dotted names; none of plain text."""
    start = text.lstrip()[:1]
    if start == "{":
        try:
            read = json.loads(text[:_MOST])
        except (ValueError, RecursionError):
            return {}
        return _flat(read) if isinstance(read, dict) else {}
    pairs = _PAIR.findall(text[:_MOST_PAIRS]) if "=" in text else []
    found = {name: value.strip('"').replace('\\"', '"') for name, value in pairs[:_MAX_FIELDS]}
    return found if found.keys() & {*LEVEL, "msg", "message"} else {}


def _flat(tree: Mapping[str, object], before: str = "", depth: int = 0) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in tree.items():
        if len(found) > _MAX_FIELDS:
            break
        if isinstance(value, Mapping):
            if depth < 4:
                found |= _flat(value, f"{before}{key}.", depth + 1)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            found[f"{before}{key}"] = str(value)
    return found


def _level_in(text: str) -> str:
    klog = _KLOG.match(text)
    if klog:
        return _LETTERS[klog[1]]
    found = _WORD.search(text[:_HEAD])
    return canonical(found[1]) if found else ""


def _error_in(text: str) -> str:
    found = _EXCEPTION.search(text[:_MOST]) or _PANIC.search(text[:_MOST])
    return found[1] if found else ""


def _origin_in(text: str) -> str:
    found = next(reversed(list(_ORIGIN.finditer(text[:_MOST]))), None)  # the last one is the nearest
    return ":".join(part for part in found.groups() if part) if found else ""
