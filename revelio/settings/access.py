"""Settings of how a backend is reached over HTTP: who asks, with which certificates, through which proxy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

from revelio.errors.redaction import checked_address, remember, remember_address

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
    api_key: SecretStr = Field(
        SecretStr(""),
        description="API key of Elasticsearch or Kibana, encoded or as `ID:KEY`; rather use `api_key_file` or `api_key_env`",
    )
    api_key_file: Path | None = Field(None, description="File that holds the API key; read at each request, so it may change")
    api_key_env: str = Field("", pattern=_VARIABLE, description="Environment variable that holds the API key")
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
        for name in ("token", "api_key", "password"):
            given = self._given(name)
            if len(given) > 1:
                raise ValueError(f"{given[0]} and {given[1]} are both set; keep one of them")
        asking = [given[0] for name in ("token", "api_key", "user") if (given := self._given(name))]
        if len(asking) > 1:
            raise ValueError(f"{asking[0]} and {asking[1]} are both set; keep one of them")
        if not self.user and self._given("password"):
            raise ValueError("a password is set without its user; set user")
        if self.key_file and not self.cert_file:
            raise ValueError("key_file is set without its certificate; set cert_file")
        remember_secrets(self)
        return self

    def _given(self, name: str) -> list[str]:
        """Which of the settings that hold a secret, or name where it is, are set."""
        values = {f: getattr(self, f, None) for f in (name, f"{name}_file", f"{name}_env")}
        return [f for f, v in values.items() if (v.get_secret_value() if isinstance(v, SecretStr) else v)]
