"""The demo: recorded incidents for anyone who comes by, and nothing of anyone else's to see or to change."""

from __future__ import annotations

import logging
import re
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from revelio.errors import StoreError
from revelio.settings import Settings
from revelio.store import Store
from revelio.store.retention import prune
from webui.accounts.permissions import Rule, rules
from webui.accounts.rate_limit import RateLimit
from webui.errors import problem_response
from webui.i18n import gettext
from webui.views.filters import seconds

log = logging.getLogger(__name__)

OFFERED: tuple[Rule, ...] = rules(
    "anybody",
    "GET /healthz",
    "GET /readyz",
    "GET /static/{path:path}",
    "GET /",
    "GET /r",
    "POST /r",
    "GET /r/{answer_id}",
    "GET /r/{answer_id}/run",
    "POST /r/{answer_id}/run",
    "GET /r/{answer_id}/run-first",
    "POST /r/{answer_id}/run-first",
    "GET /r/{answer_id}/revision",
    "GET /r/{answer_id}/post-mortem.md",
    "GET /r/{answer_id}/feedback",
    "POST /r/{answer_id}/feedback",
    "GET /r/{answer_id}/resolve",
    "POST /r/{answer_id}/resolve",
    "GET /systems",
    "GET /systems/{name}",
    "GET /catalog",
    "GET /model",
    "GET /api/docs",
    "GET /api/openapi.json",
    "GET /api/v1/incidents",
    "GET /api/v1/systems",
    "POST /api/v1/recommendations",
    "GET /api/v1/recommendations/{recommendation_id}",
    "POST /api/v1/recommendations/{recommendation_id}/queries/{query_id}/run",
    "POST /api/v1/recommendations/{recommendation_id}/feedback",
)
"""Answers have addresses that cannot be guessed; what lists the answers of others is left out, and so is all that is new."""

_PER_MINUTE = 120
_TOGETHER = (40, 0.1)
"""Changes by all visitors together: so many at once, then one every so many seconds."""
_KEPT_H = 1.0
_MOST_BYTES = 32_000_000
_EVERY_S = 10.0


def demo_settings(settings: Settings, folder: Path) -> Settings:
    """Where to listen, of ``settings``; all else as delivered: no live system, no integration, a store in ``folder``."""
    limit = min(settings.rate_limit, _PER_MINUTE) or _PER_MINUTE
    kept = {name: getattr(settings, name) for name in ("host", "port", "names", "trusted_proxies")}
    return Settings.model_construct(
        **kept, rate_limit=limit, mask=["secrets", "emails", "cards", "addresses"], database=f"sqlite:///{folder}/demo.db"
    )


class DemoOnly:
    """Refuses what the demo does not offer, and more changes than it can take."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.changes = RateLimit(*_TOGETHER)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http":
            request = Request(scope)
            method = "GET" if request.method == "HEAD" else request.method
            if not any(rule.method == method and rule.pattern.match(scope["path"]) for rule in OFFERED):
                words = gettext("The demo shows recorded incidents only. Install Revelio for this page.")
                await problem_response(request, 403, words)(scope, receive, send)
                return
            wait = self.changes.wait("everyone") if method == "POST" else 0
            if wait:
                words = gettext("The demo has many visitors at present. Wait %(time)s and try again.") % {"time": seconds(wait)}
                await problem_response(request, 429, words, headers={"Retry-After": str(wait)})(scope, receive, send)
                return
            # A reply that is kept to be replayed is one that could be asked to be kept a thousand times.
            scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"idempotency-key"]
        await self.app(scope, receive, send)


class DemoRetention:
    """A thread that deletes answers after an hour, and all of them before they fill the disk."""

    def __init__(self, store: Store) -> None:
        self._store, self._over = store, threading.Event()
        self._file = re.sub("^sqlite:///", "", str(store.database.engine.url))
        self._thread = threading.Thread(target=self._run, name="demo retention", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No more after this."""
        self._over.set()
        self._thread.join(timeout=10)

    def _run(self) -> None:
        while not self._over.wait(_EVERY_S):
            try:
                self.forget()
            except (OSError, StoreError, sqlite3.Error) as error:
                log.warning("nothing was deleted: %s", error)

    def forget(self) -> None:
        """Delete what is due now."""
        prune(self._store.database, _KEPT_H / 24)
        if sum(path.stat().st_size for path in Path(self._file).parent.glob("demo.db*")) > _MOST_BYTES:
            prune(self._store.database, 0)
            with closing(sqlite3.connect(self._file, isolation_level=None, timeout=_EVERY_S)) as connection:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
