"""Passwords, stored as argon2id hashes."""

from __future__ import annotations

import threading
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from revelio.errors import InvalidInputError

SHORTEST, LONGEST = 12, 1000
"""Length of a password in characters. Length is what counts; nothing is asked of its characters."""

_hasher = PasswordHasher()
# One hash takes 64 MiB: a crowd at the door must not fill the memory.
_turn = threading.BoundedSemaphore(2)


def hash_password(password: str) -> str:
    """Its hash, salt and parameters included; ``InvalidInputError`` when the password is too short or too long."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidInputError(f"the password has {len(password)} characters; use {SHORTEST} to {LONGEST:,}")
    with _turn:
        return _hasher.hash(password.encode("utf-8", "surrogatepass"))


def is_password(password: str, kept: str | None) -> bool:
    """Whether it is the one that was hashed. Takes as long when there is no hash, so that time does not tell who exists."""
    with _turn:
        try:
            _hasher.verify(kept or _nobodys(), password[: LONGEST + 1].encode("utf-8", "surrogatepass"))
        except (VerificationError, InvalidHashError):
            return False
    return kept is not None


@cache
def _nobodys() -> str:
    return _hasher.hash(b"a password that matches no account")
