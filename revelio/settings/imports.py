"""Settings of imported questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from revelio.settings.access import AccessSettings


class ImportSource(AccessSettings):
    """A source of questions: files, or a Prometheus or Grafana and how it is reached."""

    model_config = ConfigDict(extra="forbid")
    kind: Literal["rules", "grafana", "runbooks", "searches"] = Field(description="What it holds")
    source: str = Field(min_length=1, description="A file, a folder, or the address of a Prometheus (rules) or a Grafana")

    def access(self) -> dict[str, Any]:
        """What a backend needs to be reached in the same way."""
        return {name: getattr(self, name) for name in AccessSettings.model_fields}


class ImportSettings(BaseModel):
    """Questions of one's own: rules, dashboards, runbooks, saved searches."""

    model_config = ConfigDict(extra="forbid")
    folder: Path = Field(Path("var/catalog"), description="Folder of what was imported")
    every_hours: float = Field(24.0, ge=0, le=8_760, description="Hours between the server's readings of all sources; 0: never")
    sources: dict[str, ImportSource] = Field({}, description="Sources by name, besides those of `revelio catalog import`")
