"""A service's settings, from its environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """Read once, when the service starts."""

    service: str
    version: str
    traces: str
    database: str
    redis: str
    port: int = 8000

    def peer(self, name: str) -> str:
        """Base address of another service: ``CART_URL`` or, by default, its name on port 8000."""
        return os.environ.get(f"{name.upper()}_URL", f"http://{name}:8000")


def read_settings() -> Settings:
    """The environment, with the version of the deployed code from the file VERSION."""
    version = Path("VERSION")
    return Settings(
        service=os.environ["SERVICE_NAME"],
        version=version.read_text().strip() if version.is_file() else "0",
        traces=os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", ""),
        database=os.environ.get("DATABASE_URL", ""),
        redis=os.environ.get("REDIS_URL", ""),
        port=int(os.environ.get("PORT", "8000")),
    )
