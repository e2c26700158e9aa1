"""Settings of how a backend is reached over HTTP: who asks, with which certificates, through which proxy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from revelio.redaction import checked_address, remember, remember_address

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$|^$"


Address = Annotated[str, AfterValidator(checked_address)]
"""An address that may hold a password: percent-encoded, so that everything that reads it finds the same host."""


def remember_secrets(value: Any) -> None:
    """Keep every secret of settings, at any depth, out of all output from now on."""
    if isinstance(value, SecretStr):
        remember(value.get_secret_value())
    elif isinstance(value, str):
        remember_address(value)
    elif isinstance(value, BaseModel):
        remember_secrets([getattr(value, name) for name in type(value).model_fields])
    elif isinstance(value, dict):
        remember_secrets(list(value.values()))
    elif isinstance(value, list | tuple):
        for inner in value:
            remember_secrets(inner)


def _header_names(headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
    for name in headers:
        if not _HEADER.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of a header")
    return headers


class AccessSettings(BaseModel):
    """How a backend is reached over HTTP. A secret is best named by the file or the variable that holds it."""

    model_config = ConfigDict(hide_input_in_errors=True)
    token: SecretStr = Field(SecretStr(""), description="Bearer token; rather use `token_file` or `token_env`")
    token_file: Path | None = Field(None, description="File that holds the bearer token; read at each request, so it may change")
    token_env: str = Field("", pattern=_VARIABLE, description="Environment variable that holds the bearer token")
    user: str = Field("", description="User name for basic authentication")
    password: SecretStr = Field(SecretStr(""), description="Its password; rather use `password_file` or `password_env`")
    password_file: Path | None = Field(None, description="File that holds the password")
    password_env: str = Field("", pattern=_VARIABLE, description="Environment variable that holds the password")
    headers: Annotated[dict[str, SecretStr], AfterValidator(_header_names)] = Field(
        {}, description='Headers of every request, such as a tenant: `{X-Scope-OrgID = "team-a"}`'
    )
    ca_file: Path | None = Field(None, description="Certificates (PEM) of the authorities to trust instead of the public ones")
    cert_file: Path | None = Field(None, description="Client certificate (PEM), where the backend wants one")
    key_file: Path | None = Field(None, description="Its private key (PEM); empty when `cert_file` holds it too")
    proxy: Address = Field(
        "", pattern=r"^(https?://\S+)?$", description="Proxy that requests go through; proxies of the environment are ignored"
    )

    @model_validator(mode="after")
    def _one_way_each(self) -> Self:
        for name in ("token", "password"):
            given = [f for f in (name, f"{name}_file", f"{name}_env") if _given(getattr(self, f))]
            if len(given) > 1:
                raise ValueError(f"{given[0]} and {given[1]} are both set; keep one of them")
        if self.user and any(map(_given, (self.token, self.token_file, self.token_env))):
            raise ValueError("a user and a token are both set; keep one of them")
        if not self.user and any(map(_given, (self.password, self.password_file, self.password_env))):
            raise ValueError("a password is set without its user; set user")
        if self.key_file and not self.cert_file:
            raise ValueError("key_file is set without its certificate; set cert_file")
        remember_secrets(self)
        return self


def _given(value: object) -> bool:
    return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)
