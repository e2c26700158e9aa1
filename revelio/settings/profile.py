"""Settings of what discovery finds out in a backend."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class ProfileSettings(BaseModel):
    """What discovery would find out, where it is to be something else (prometheus, loki)."""

    model_config = ConfigDict(extra="forbid")
    scrape_interval_s: float | None = Field(None, gt=0, description="Seconds between scrapes; found out when not set")
    component: str = Field("", pattern=r"^[a-zA-Z_]\w*$|^$", description="The label that names components; chosen when empty")
    selector: str = Field("", description='Matchers that keep other systems out, such as `namespace="shop"`')
    conventions: list[str] = Field([], description="Conventions to read by; all that are found when empty")
    names: dict[str, str] = Field({}, description="Component by another name of it, such as an address")
    folder: Path = Field(Path("var/profiles"), description="Folder of the profiles that were found")
