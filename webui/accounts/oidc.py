"""Signing in through an identity provider: OpenID Connect's authorization code flow, with PKCE."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import asdict, dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

import httpx
from pydantic import AfterValidator, BaseModel, StringConstraints

from revelio.errors import AccessError
from revelio.settings import OidcSettings
from revelio.support.extras import extras_for
from webui.i18n import gettext

_WAIT_S = 10.0
_LONGEST = 1_000_000
"""Bytes of what the provider publishes of itself."""


def _parsed(address: str) -> str:
    urlsplit(address)  # ValueError for brackets that enclose no IPv6 address
    return address


_Address = Annotated[str, StringConstraints(pattern=r"^https?://[^/\s\\][^\s\\]*$", max_length=2_000), AfterValidator(_parsed)]
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Signed with a key that the provider publishes. ``none`` and shared secrets are not among them."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What must come back from the provider; it waits in a cookie of the browser that set out."""

    state: str
    nonce: str
    verifier: str
    onward: str

    def dump(self) -> str:
        """For the cookie."""
        return json.dumps(asdict(self)).encode().hex()

    @classmethod
    def load(cls, cookie: str) -> Attempt:
        """From the cookie; ``AccessError`` when there is none."""
        try:
            attempt = cls(**json.loads(bytes.fromhex(cookie)))
            if not all(isinstance(value, str) for value in asdict(attempt).values()):
                raise TypeError("not text")
            return attempt
        except (ValueError, TypeError, RecursionError) as error:
            raise AccessError(gettext("This did not begin here, or took too long. Sign in again.")) from error


@dataclass(frozen=True, slots=True)
class Vouched:
    """A user that the provider authenticated: ``subject`` never changes, ``name`` is the display name."""

    subject: str
    name: str


class Description(BaseModel):
    """What a provider says of itself, as far as this needs it."""

    issuer: str
    authorization_endpoint: _Address
    token_endpoint: _Address
    jwks_uri: _Address


class Provider:
    """One identity provider. Raises ``AccessError`` for whatever it does not vouch for, or when it does not answer."""

    def __init__(self, settings: OidcSettings) -> None:
        """``MissingExtraError`` when the library for this is not installed."""
        with extras_for("the setting `oidc`"):
            import authlib  # noqa: F401, PLC0415
        self._settings = settings

    def start(self, back: str, onward: str) -> tuple[str, Attempt]:
        """Where to send the browser, and what to remember. ``back`` is the address that it comes back to."""
        state, nonce, verifier = (secrets.token_urlsafe(48) for _ in range(3))
        attempt = Attempt(state, nonce, verifier, onward)
        with self._client(back) as client:
            endpoint = self._described().authorization_endpoint
            url, _ = client.create_authorization_url(
                endpoint, state=attempt.state, code_verifier=attempt.verifier, nonce=attempt.nonce
            )
        return str(url), attempt

    def finish(self, arrived: str, back: str, attempt: Attempt) -> Vouched:
        """Whom the provider vouches for, at the address that the browser came back with."""
        from authlib.common.errors import AuthlibBaseError  # noqa: PLC0415
        from joserfc.errors import JoseError  # noqa: PLC0415

        if httpx.URL(arrived).params.get("state") != attempt.state:
            raise AccessError(gettext("This did not begin here, or took too long. Sign in again."))
        try:
            with self._client(back) as client:
                described = self._described()
                token = client.fetch_token(
                    described.token_endpoint,
                    authorization_response=arrived,
                    state=attempt.state,
                    code_verifier=attempt.verifier,
                )
                claims = self._verified(described, token["id_token"], attempt.nonce)
        except (
            *(httpx.HTTPError, httpx.InvalidURL, AuthlibBaseError, JoseError),
            *(LookupError, ValueError, TypeError, AttributeError, RecursionError),  # the libraries', over odd documents
        ) as error:
            words = gettext("%(provider)s did not sign you in (%(error)s). Try again.")
            raise AccessError(words % {"provider": self._settings.title, "error": type(error).__name__}) from error
        name = next((str(claims[c]) for c in ("preferred_username", "email", "name", "sub") if claims.get(c)), "")
        return Vouched(f"{self._settings.issuer}|{claims['sub']}", name.strip()[:100])

    def _client(self, back: str) -> Any:
        from authlib.integrations.httpx_client import OAuth2Client  # noqa: PLC0415

        secret = self._settings.client_secret.get_secret_value()
        return OAuth2Client(
            self._settings.client_id,
            secret or None,
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            scope="openid profile email",
            redirect_uri=back,
            code_challenge_method="S256",
            timeout=_WAIT_S,
        )

    def _described(self) -> Description:
        """The provider's own description, which must be of the issuer that the settings name."""
        issuer = self._settings.issuer.rstrip("/")
        try:
            described = Description.model_validate_json(_published(f"{issuer}/.well-known/openid-configuration"))
        except (httpx.HTTPError, ValueError) as error:
            words = gettext("%(provider)s does not answer (%(error)s). Try again later.")
            raise AccessError(words % {"provider": self._settings.title, "error": type(error).__name__}) from error
        if described.issuer.rstrip("/") != issuer:
            raise AccessError(
                gettext("The identity provider calls itself something else than the setting `oidc.issuer`. Tell an admin.")
            )
        return described

    def _verified(self, described: Description, id_token: str, nonce: str) -> dict[str, Any]:
        from joserfc import jwt  # noqa: PLC0415
        from joserfc.jwk import KeySet  # noqa: PLC0415

        keys = KeySet.import_key_set(json.loads(_published(described.jwks_uri)))
        token = jwt.decode(id_token, keys, algorithms=list(_ALGORITHMS))
        wanted = {
            "iss": {"essential": True, "value": described.issuer},
            "aud": {"essential": True, "value": self._settings.client_id},
            "exp": {"essential": True},
            "sub": {"essential": True},
            "nonce": {"essential": True, "value": nonce},
        }
        registry = jwt.JWTClaimsRegistry(leeway=60, **wanted)  # type: ignore[arg-type]
        registry.validate(token.claims)
        return token.claims


def _published(address: str) -> bytes:
    """What the provider publishes there. Raises ``httpx.HTTPError`` or ``ValueError``; bounded in time and size."""
    deadline, body = time.monotonic() + _WAIT_S, bytearray()
    # Compressed, a small answer could become a huge one.
    with httpx.stream("GET", address, timeout=_WAIT_S, headers={"Accept-Encoding": "identity"}) as reply:
        reply.raise_for_status()
        for part in reply.iter_raw():
            body += part
            if len(body) > _LONGEST or time.monotonic() > deadline:
                raise ValueError("too long")
    return bytes(body)
