"""Signatures and credentials of webhooks. Every comparison takes constant time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

USER = "revelio"
"""The user name of basic authentication."""
MAX_AGE_S = 300.0
"""How old a signed timestamp may be, either way, in seconds."""


def has_credentials(authorization: str, *, token: str = "", password: str = "") -> bool:
    """True when an ``Authorization`` header carries the bearer token, or the password of user ``revelio``."""
    scheme, _, given = authorization.partition(" ")
    if scheme.lower() == "bearer" and token:
        return _same(given.strip(), token)
    if scheme.lower() == "basic" and password:
        try:
            user, _, word = base64.b64decode(given.strip(), validate=True).decode("utf-8").partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return False
        return _same(user, USER) & _same(word, password)
    return False


def signed_by_pagerduty(body: bytes, header: str, secret: str) -> bool:
    """True when one of the ``v1=`` signatures in ``X-PagerDuty-Signature`` is that of the body."""
    wanted = f"v1={_hmac(body, secret)}"
    return bool(secret) and any(_same(one.strip(), wanted) for one in header.split(","))


def signed_by_grafana(body: bytes, signature: str, secret: str, *, timestamp: str | None, now: float) -> bool:
    """True when ``X-Grafana-Alerting-Signature`` fits body and timestamp, and the timestamp is fresh.

    One without a timestamp could be replayed by anyone who once saw it, so it is refused.
    """
    if not secret or timestamp is None:
        return False
    if not timestamp.isdecimal() or len(timestamp) > 12 or abs(now - int(timestamp)) > MAX_AGE_S:
        return False
    return _same(signature.strip().lower(), _hmac(f"{timestamp}:".encode() + body, secret))


def _hmac(body: bytes, secret: str) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("utf-8", "replace"))
