"""The demo: recorded incidents for anyone who comes by, and nothing of anyone else's to see or to change."""

from __future__ import annotations

import hmac
import logging
import re
import secrets
import sqlite3
import threading
import time
from contextlib import closing
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from revelio.errors import StoreError
from revelio.settings import Settings
from revelio.store import Store
from revelio.store.retention import prune
from webui.accounts.identity import address_of
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
_CHANGES = (20, 1.0)
_QUESTIONS = (20, 60.0)
"""Of one visitor: so many at once, then one every so many seconds. One visitor's questions do not fill the store."""
_KEPT_H = 1.0
_MOST_BYTES = 32_000_000
_EVERY_S = 10.0
_MOST_ANSWERS = 10_000
_TICK_DAYS = 0.001 / 86_400
"""So much younger than the newest answer that goes is what stays."""
_COOKIE = "revelio-demo-answer"
_ASKED = ("/r", "/api/v1/recommendations")
_ANSWER = re.compile(rf"(?:{'|'.join(_ASKED)})/([^/?#]+)")


def demo_settings(settings: Settings, folder: Path) -> Settings:
    """Where to listen, of ``settings``; all else as delivered: no live system, no integration, a store in ``folder``."""
    limit = min(settings.rate_limit, _PER_MINUTE) or _PER_MINUTE
    kept = {name: getattr(settings, name) for name in ("host", "port", "names", "trusted_proxies")}
    return Settings.model_construct(
        **kept, rate_limit=limit, mask=["secrets", "emails", "cards", "addresses"], database=f"sqlite:///{folder}/demo.db"
    )


class DemoOnly:
    """Refuses what the demo does not offer, changes to the answers of other visitors, and more changes than one may make."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.changes, self.questions = RateLimit(*_CHANGES), RateLimit(*_QUESTIONS)
        self.keys = AnswerKeys()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "http":
            request = Request(scope)
            refused = self._refusal(request)
            if refused is not None:
                await refused(scope, receive, send)
                return
            # A reply that is kept to be replayed is one that could be asked to be kept a thousand times.
            scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"idempotency-key"]
            send = self.keys.given_with(request, send)
        await self.app(scope, receive, send)

    def _refusal(self, request: Request) -> Response | None:
        method = "GET" if request.method == "HEAD" else request.method
        path = request.scope["path"]
        if not any(rule.method == method and rule.pattern.match(path) for rule in OFFERED):
            words = gettext("The demo shows recorded incidents only. Install Revelio for this page.")
            return problem_response(request, 403, words)
        if method != "POST":
            return None
        visitor, asks = _network(address_of(request)), path in _ASKED
        wait = self.changes.wait(visitor) or (self.questions.wait(visitor) if asks else 0)
        if wait:
            words = gettext("Too many requests. Wait %(time)s and try again.") % {"time": seconds(wait)}
            return problem_response(request, 429, words, headers={"Retry-After": str(wait)})
        if not asks and not self.keys.opens(request):
            words = gettext(
                "Only the visitor who asked may change this answer. Ask a question to run its queries and judge them."
            )
            return problem_response(request, 403, words)
        return None


class AnswerKeys:
    """A cookie for each answer, given to the browser that asked: an address that is passed on lets others read, not change."""

    def __init__(self) -> None:
        self._secret = secrets.token_bytes(32)

    def opens(self, request: Request) -> bool:
        """Whether a request to change an answer carries its key."""
        found = _ANSWER.match(request.scope["path"])
        given = request.cookies.get(_COOKIE, "")
        return found is not None and hmac.compare_digest(given.encode("utf-8", "replace"), self._key(found[1]).encode())

    def given_with(self, request: Request, send: Send) -> Send:
        """``send`` that adds the key to the reply to a question."""
        if request.method != "POST" or request.scope["path"] not in _ASKED:
            return send

        async def send_with_key(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                found = _ANSWER.match(headers.get("location") or headers.get("content-location") or "")
                for base in _ASKED if found else ():
                    assert found is not None
                    secure = "; Secure" if request.url.scheme == "https" else ""
                    scope = f"Path={base}/{found[1]}; Max-Age={_KEPT_H * 3600:.0f}; HttpOnly; SameSite=Lax{secure}"
                    headers.append("set-cookie", f"{_COOKIE}={self._key(found[1])}; {scope}")
            await send(message)

        return send_with_key

    def _key(self, answer_id: str) -> str:
        return hmac.new(self._secret, answer_id.encode("utf-8", "replace"), "sha256").hexdigest()


def _network(address: str) -> str:
    """What one visitor has to themselves: an IPv4 address, or the 64 bits of an IPv6 network."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ip_network((found, 64), strict=False)) if isinstance(found, IPv6Address) else address


class DemoRetention:
    """A thread that deletes answers after an hour, and the oldest before they fill the disk."""

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
        """Delete what is due now; of what takes too much room, the older half until it fits."""
        prune(self._store.database, _KEPT_H / 24)
        while self._size() > _MOST_BYTES and (kept := [entry.saved_at for entry in self._store.history(_MOST_ANSWERS)]):
            halfway = kept[len(kept) // 2]  # newest first
            prune(self._store.database, (time.time() - halfway) / 86_400 - _TICK_DAYS)
            with closing(sqlite3.connect(self._file, isolation_level=None, timeout=_EVERY_S)) as connection:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _size(self) -> int:
        return sum(path.stat().st_size for path in Path(self._file).parent.glob("demo.db*"))
