"""Settings of the index of past incidents."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from revelio.settings.access import AccessSettings


class RetrievalSettings(AccessSettings):
    """Which engine finds similar past incidents, and how an Elasticsearch is reached."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    engine: Literal["faiss", "elasticsearch"] = Field(
        "faiss", description="`faiss`: in the process; `elasticsearch`: one index for several servers and millions of incidents"
    )
    folder: Path | None = Field(
        None, description="Folder of faiss's index; empty: `retrieval` beside an SQLite store, else `var/retrieval`"
    )
    url: str = Field("", pattern=r"^(https?://\S+)?$", description="Address of the Elasticsearch (8 or newer)")
    index: str = Field(
        "revelio", pattern=r"^[a-z0-9][a-z0-9_-]{0,60}$", description="What the names of its indices begin with, one per store"
    )

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.engine == "elasticsearch" and not self.url:
            raise ValueError("the engine is elasticsearch, and its url is not set")
        return self
