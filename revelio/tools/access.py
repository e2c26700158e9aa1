"""What every request to one backend carries: credentials, headers, certificates, a proxy. Secrets are read when they are used."""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pydantic import SecretStr

from revelio.errors import SourceError
from revelio.errors.redaction import remember, secrets_in
from revelio.settings.access import AccessSettings
from revelio.support.bounded_file import read_bounded

_MOST_SECRET = 64_000
_SHORTEST_SECRET = 4

T = TypeVar("T")


class Access:
    """How one source is reached. Safe to share between threads."""

    def __init__(self, source: str, url: str, settings: AccessSettings) -> None:
        """Nothing is read yet."""
        self.source = source
        self.settings = settings
        self._url = url

    def headers(self) -> dict[str, str]:
        """The headers of one request; ``SourceError`` when a secret cannot be read."""
        found = {
            name: self._carried(f"headers.{name}", value.get_secret_value()) for name, value in self.settings.headers.items()
        }
        if token := self._secret("token"):
            found["Authorization"] = f"Bearer {token}"
        elif key := self._secret("api_key"):
            found["Authorization"] = f"ApiKey {_encoded(key)}"
        elif self.settings.user:
            found["Authorization"] = f"Basic {_basic(self.settings.user, self._secret('password'))}"
        return found

    def context(self) -> ssl.SSLContext | None:
        """Which certificates to trust and to show; None where the public authorities are trusted and none is shown."""
        settings = self.settings
        if not settings.ca_file and not settings.cert_file:
            return None
        context = self._readable("ca_file", settings.ca_file, lambda: ssl.create_default_context(cafile=settings.ca_file))
        if settings.cert_file:
            cert, key = settings.cert_file, settings.key_file
            # Without a password here, OpenSSL would ask for one at the terminal.
            self._readable("cert_file", cert, lambda: context.load_cert_chain(cert, key, password=""))
        return context

    def secrets(self) -> tuple[str, ...]:
        """Everything that no message may repeat, in each form in which a library or a backend may repeat it."""
        found = [value.get_secret_value() for value in self.settings.headers.values()]
        for name in ("token", "api_key", "password"):
            try:
                found.append(self._secret(name))
            except SourceError:  # unreadable secrets are not repeated either
                continue
            if name == "api_key":
                found += _forms(found[-1])
        if self.settings.user:
            found.append(_basic(self.settings.user, found[-1]))
        longest_first = sorted({s for s in found if len(s) >= _SHORTEST_SECRET}, key=len, reverse=True)
        return (*longest_first, *secrets_in(self._url), *secrets_in(self.settings.proxy))

    def what_is_missing(self, told: str) -> str:
        """What to do about an answer that refuses whoever asked; ``told`` is what the backend said of it."""
        settings = self.settings
        if "org id" in told.lower() or "x-scope-orgid" in told.lower():
            return 'needs a tenant; set headers = {X-Scope-OrgID = "..."} of its backend'
        if settings.user:
            return f"refuses the user {settings.user!r} and its password; are they right?"
        if settings.token_file or settings.token_env or settings.token.get_secret_value():
            held = settings.token_file or settings.token_env or "token"
            return f"refuses the token in {held}; is it right, and still valid?"
        if settings.api_key_file or settings.api_key_env or settings.api_key.get_secret_value():
            held = settings.api_key_file or settings.api_key_env or "api_key"
            return f"refuses the API key in {held}; is it right, not expired and not invalidated?"
        if "@" in self._url.partition("://")[2].partition("/")[0]:
            return "refuses the user and password in its url; are they right?"
        if "rest request" in told.lower():  # Elasticsearch
            return "needs an API key or a user; set api_key_file, api_key_env or user of its backend"
        return "needs a token or a user; set token_file, token_env or user of its backend"

    def _secret(self, name: str) -> str:
        """The token or the password, from wherever the settings say it is; "" where none is set."""
        plain: SecretStr = getattr(self.settings, name)
        path: Path | None = getattr(self.settings, f"{name}_file")
        variable: str = getattr(self.settings, f"{name}_env")
        if path is not None:
            held = self._readable(f"{name}_file", path, lambda: read_bounded(path, _MOST_SECRET).decode("utf-8").strip())
            return self._carried(f"{name}_file", held)
        if variable:
            if variable not in os.environ:
                raise SourceError(self.source, f"its {name}_env names {variable}, which is not set in the environment")
            return self._carried(variable, os.environ[variable].strip())
        return self._carried(name, plain.get_secret_value())

    def _readable(self, setting: str, path: Path | None, read: Callable[[], T]) -> T:
        try:
            return read()
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            why = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            raise SourceError(self.source, f"its {setting} {path} cannot be read: {why}") from None

    def _carried(self, where: str, value: str) -> str:
        remember(value)
        if not value.isprintable() or not value.isascii():
            raise SourceError(self.source, f"its {where} holds characters that a header cannot carry; is it the right one?")
        return value


def _basic(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode(errors="replace")).decode()


def _encoded(key: str) -> str:
    """An API key as its header carries it: users copy it encoded, or as id and key."""
    return base64.b64encode(key.encode()).decode() if ":" in key else key


def _forms(key: str) -> list[str]:
    """An API key encoded, as id and key, and without its id."""
    with suppress(ValueError):
        key = base64.b64decode(_encoded(key), validate=True).decode()
    return [_encoded(key), key, key.partition(":")[2]]
