"""A service's settings, from its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """Read once, when the service starts. ``environ`` holds the knobs that only some services have."""

    service: str
    version: str
    traces: str
    database: str
    redis: str
    port: int
    environ: Mapping[str, str]

    def peer(self, name: str) -> str:
        """Base address of another service: ``CART_URL`` or, by default, its name on port 8000."""
        return self.environ.get(f"{name.upper()}_URL", f"http://{name}:8000")

    def text(self, name: str, default: str) -> str:
        """A knob as it stands."""
        return self.environ.get(name, default)

    def number(self, name: str, default: float) -> float:
        """A knob as a number; the service does not start with one that is none, or below zero."""
        return _number(self.environ, name, default)


def read_settings() -> Settings:
    """The environment, with the version of the deployed code from the file VERSION."""
    version, environ = Path("VERSION"), dict(os.environ)
    return Settings(
        service=environ["SERVICE_NAME"],
        version=version.read_text().strip() if version.is_file() else "0",
        traces=environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", ""),
        database=environ.get("DATABASE_URL", ""),
        redis=environ.get("REDIS_URL", ""),
        port=int(_number(environ, "PORT", 8000)),
        environ=environ,
    )


def _number(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, "")
    try:
        value = float(text) if text else default
    except ValueError:
        value = -1.0
    # Written so that "nan" is refused too.
    if not value >= 0:
        raise SystemExit(f"{name}={text!r} must be a number from 0 on")
    return value
