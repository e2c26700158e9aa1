"""What the API takes and gives about accounts."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from revelio.store import Role
from revelio.store.passwords import LONGEST, SHORTEST

_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]
_ROLE = "`viewer` reads; `responder` also asks, runs and judges; `admin` also looks after accounts"


class MeView(BaseModel):
    """The authenticated caller."""

    name: str
    role: Role


class UserRequest(BaseModel):
    """A new user."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "robin", "role": "responder", "password": "correct horse battery"}]},
    )
    name: _Name
    role: Role = Field("responder", description=_ROLE)
    password: str = Field(min_length=SHORTEST, max_length=LONGEST)


class UserChange(BaseModel):
    """What is to change; the rest stays."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"role": "viewer"}]})
    role: Role | None = Field(None, description=_ROLE)
    password: str | None = Field(None, min_length=SHORTEST, max_length=LONGEST)


class UserView(BaseModel):
    """A user account."""

    name: str
    role: Role
    created_at: float = Field(description="Unix seconds")
    has_password: bool = Field(description="False where only the identity provider lets them in")


class TokenRequest(BaseModel):
    """A token for a program that acts for the caller."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "alert relay", "role": "responder", "days": 90}]}
    )
    name: _Name = Field(description="What uses it")
    role: Role | None = Field(None, description="At most the caller's own, which it is when left out")
    days: float | None = Field(None, gt=0, le=3660, allow_inf_nan=False, description="How long it lasts; for ever when left out")


class TokenView(BaseModel):
    """A token without its secret. Times in Unix seconds."""

    id: str
    owner: str
    name: str
    role: Role
    created_at: float
    expires_at: float | None
    last_used_at: float | None = Field(description="To the minute")


class NewTokenView(TokenView):
    """A token with its secret."""

    token: str = Field(description="Shown only once: the store keeps a digest")


class AuditView(BaseModel):
    """One line of the audit trail."""

    id: int
    at: float = Field(description="Unix seconds")
    actor: str
    action: str
    target: str
    detail: str
    address: str
