"""Password hashes that cost next to nothing, for tests of everything else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from argon2 import PasswordHasher

from revelio.store import passwords

REAL = passwords._hasher
"""What people's passwords are hashed with."""


@contextmanager
def cheap_hashes() -> Iterator[None]:
    """Inside the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield
