"""Who is signed in, in Redis, for as long as they come back."""

from __future__ import annotations

import json
import re
import secrets
from typing import Any

from kit.cache import Store

_TOKEN = re.compile(r"^[0-9a-f]{32}$")


class Sessions:
    """Sessions by a token that nobody can guess; each use prolongs one by ``seconds``."""

    def __init__(self, store: Store, seconds: int = 1800) -> None:
        self._store, self._seconds = store, seconds

    async def start(self, who: dict[str, Any]) -> str:
        """A new session's token."""
        token = secrets.token_hex(16)
        await self._store.client.set(f"session:{token}", json.dumps(who), ex=self._seconds)
        return token

    async def get(self, token: str) -> dict[str, Any] | None:
        """Who it is; None when the session has ended or never was."""
        if not _TOKEN.match(token):
            return None
        kept = await self._store.client.getex(f"session:{token}", ex=self._seconds)
        if kept is None:
            return None
        who: dict[str, Any] = json.loads(kept)
        return who

    async def end(self, token: str) -> None:
        """Sign out."""
        if _TOKEN.match(token):
            await self._store.client.delete(f"session:{token}")
