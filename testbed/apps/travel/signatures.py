"""Slow signatures: what only this application can have written, and nobody can try out quickly."""

from __future__ import annotations

import hashlib
import hmac

_ROUNDS = 3_500
_KEY = b"travel"


def sign(text: str, length: int = 32) -> str:
    """A signature of so many hexadecimal digits."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), _KEY, _ROUNDS).hex()[:length]


def is_signed(text: str, signature: str) -> bool:
    """Whether the signature is this text's."""
    return hmac.compare_digest(sign(text, len(signature)), signature) if signature else False
