"""Passwords, kept as scrypt hashes: about 15 ms of honest work each, in a thread."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets

_COST, _BLOCK, _PARALLEL = 2**12, 8, 1
_FORM = "scrypt"


async def hash_password(password: str) -> str:
    """A hash with a salt of its own: ``scrypt$salt$hash``."""
    salt = secrets.token_bytes(16)
    return f"{_FORM}${salt.hex()}${(await _derived(password, salt)).hex()}"


async def matches(password: str, hashed: str) -> bool:
    """Whether the password is the one that was hashed."""
    form, salt, key = hashed.split("$")
    if form != _FORM:
        raise ValueError(f"a password is kept in the form {form!r}")
    return hmac.compare_digest(await _derived(password, bytes.fromhex(salt)), bytes.fromhex(key))


async def _derived(password: str, salt: bytes) -> bytes:
    return await asyncio.to_thread(hashlib.scrypt, password.encode(), salt=salt, n=_COST, r=_BLOCK, p=_PARALLEL)
