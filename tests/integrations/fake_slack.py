"""Slack on loopback: its Web API, response addresses and socket mode, strict about what the real one refuses."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
CLIENT_ID, CLIENT_SECRET = "1234.5678", "b6c9d0e1f2a3b4c5d6e7f8091a2b3c4d"
CHANNEL, USER, BOT = "C0123ABC", "U0123ABC", "U0BOT"


@dataclass
class Posted:
    """A message as Slack has it now."""

    channel: str
    ts: str
    thread: str | None
    token: str
    text: str
    blocks: list[dict[str, Any]]
    edits: int = 0
    history: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """Everything that a person reads in it."""
        return " ".join(texts(self.blocks))

    def button(self, words: str, rank: int = 1) -> dict[str, Any]:
        """The button of that name under the query of that rank."""
        found = [e for b in self.blocks if b["type"] == "actions" for e in b["elements"] if e["text"]["text"] == words]
        return dict(found[rank - 1])


def texts(blocks: Any) -> Iterator[str]:
    """All texts in blocks."""
    if isinstance(blocks, dict):
        for name, value in blocks.items():
            if name == "text" and isinstance(value, str):
                yield value
            else:
                yield from texts(value)
    elif isinstance(blocks, list):
        for part in blocks:
            yield from texts(part)


class FakeSlack:
    """One Slack with any number of workspaces, told apart by token."""

    def __init__(self, *, tokens: Mapping[str, str]) -> None:
        self.tokens = dict(tokens)
        self.messages: list[Posted] = []
        self.responses: list[dict[str, Any]] = []
        self.threads: dict[str, list[dict[str, Any]]] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refuse: dict[str, str] = {}
        self.busy = 0
        self.files: dict[str, bytes] = {}
        self.processing = 0
        self.codes: dict[str, str] = {}
        self.uploads = 200
        self.sockets: queue.Queue[ServerConnection] = queue.Queue()
        self.acknowledged: queue.Queue[dict[str, Any]] = queue.Queue()
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._ws: Server = serve(self._socket, "127.0.0.1", 0)
        for serving in (self._http.serve_forever, self._ws.serve_forever):
            threading.Thread(target=serving, daemon=True).start()

    @property
    def url(self) -> str:
        """Base address of the Web API."""
        return f"http://127.0.0.1:{self._http.server_port}/api/"

    @property
    def response_url(self) -> str:
        """Where answers for one person go."""
        return f"http://127.0.0.1:{self._http.server_port}/response/1"

    def close(self) -> None:
        """Hang up."""
        self._ws.shutdown()
        self._http.shutdown()
        self._http.server_close()

    def call(self, method: str, token: str, given: dict[str, Any]) -> dict[str, Any]:
        """One call of the Web API."""
        with self._lock:
            self.calls.append((method, given))
            if method == "apps.connections.open":
                port = self._ws.socket.getsockname()[1]
                return {"ok": True, "url": f"ws://127.0.0.1:{port}/link/?ticket=1"}
            if method == "oauth.v2.access":
                return self._exchange(token, given)
            if token not in self.tokens:
                return {"ok": False, "error": "invalid_auth"}
            if method in self.refuse:
                return {"ok": False, "error": self.refuse[method]}
            if method == "conversations.replies":
                return {"ok": True, "messages": self.threads.get(given["ts"], []), "has_more": False}
            if method == "auth.test":
                return {"ok": True, "team_id": self.tokens[token], "bot_id": "B1", "url": "https://example.slack.com/"}
            if method == "files.getUploadURLExternal":
                return self._upload(given)
            if method == "files.completeUploadExternal":
                return {"ok": True, "files": json.loads(given["files"])}
            if method in ("chat.postMessage", "chat.update"):
                wrong = refused(given) or self._unready(given.get("blocks") or [])
                return {"ok": False, "error": wrong} if wrong else self._write(method, token, given)
            return {"ok": False, "error": "unknown_method"}

    def _exchange(self, secret: str, given: dict[str, Any]) -> dict[str, Any]:
        """A code, good once, for the token of a workspace."""
        team = self.codes.pop(given.get("code", ""), "")
        app = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if not team or secret != f"Basic {app}":
            return {"ok": False, "error": "invalid_code"}
        token = f"xoxb-{team}-{uuid.uuid4().hex}"
        self.tokens[token] = team
        return {
            "ok": True,
            "app_id": "A1",
            "authed_user": {"id": USER},
            "scope": "commands,chat:write",
            "token_type": "bot",
            "access_token": token,
            "bot_user_id": BOT,
            "team": {"id": team, "name": f"Workspace {team}"},
            "enterprise": None,
            "is_enterprise_install": False,
        }

    def _upload(self, given: dict[str, Any]) -> dict[str, Any]:
        file = f"F{len(self.files):09d}"
        self.files[file] = b""
        return {"ok": True, "file_id": file, "upload_url": f"http://127.0.0.1:{self._http.server_port}/upload/{file}"}

    def _unready(self, blocks: list[dict[str, Any]]) -> str:
        """A picture that is not there, or, ``processing`` times, not yet."""
        wanted = [b["slack_file"]["id"] for b in blocks if b["type"] == "image"]
        if wanted and self.processing:
            self.processing -= 1
            return "invalid_blocks"
        return "" if all(self.files.get(file) for file in wanted) else "invalid_blocks"

    def _write(self, method: str, token: str, given: dict[str, Any]) -> dict[str, Any]:
        blocks = given.get("blocks") or []
        if method == "chat.update":
            found = [m for m in self.messages if (m.channel, m.ts) == (given["channel"], given["ts"])]
            if not found:
                return {"ok": False, "error": "message_not_found"}
            found[0].history.append(found[0].words)
            found[0].text, found[0].blocks, found[0].edits = given["text"], blocks, found[0].edits + 1
            return {"ok": True, "channel": given["channel"], "ts": given["ts"]}
        ts = f"1790000000.{len(self.messages) + 1:06d}"
        self.messages.append(Posted(given["channel"], ts, given.get("thread_ts"), token, given["text"], blocks))
        return {"ok": True, "channel": given["channel"], "ts": ts}

    def _socket(self, connection: ServerConnection) -> None:
        connection.send(json.dumps({"type": "hello", "num_connections": 1}))
        self.sockets.put(connection)
        with suppress(ConnectionClosed):
            for message in connection:
                self.acknowledged.put(json.loads(message))

    def wait(self, done: Callable[[], bool], seconds: float = 12.0) -> None:
        """Until it is so; fails when that takes too long."""
        deadline = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < deadline, f"not so after {seconds} s; there is {[m.words[:200] for m in self.messages]}"
            time.sleep(0.02)

    def answer(self, among: int = 0) -> Posted:
        """The message that holds an answer, once it is there."""
        self.wait(lambda: len(self._answers()) > among)
        return self._answers()[among]

    def _answers(self) -> list[Posted]:
        with self._lock:
            return [m for m in self.messages if any(b["type"] == "actions" for b in m.blocks)]


def refused(given: Mapping[str, Any]) -> str:
    """Why Slack would not take this message; "" when it would."""
    blocks = given.get("blocks") or []
    if len(blocks) > 50 or len(given.get("text") or "") > 40_000:
        return "msg_too_long" if len(blocks) <= 50 else "invalid_blocks"
    for block in blocks:
        if block["type"] == "actions":
            wrong = len(block["elements"]) > 25 or any(_wrong_button(b) for b in block["elements"])
        elif block["type"] == "rich_text":
            wrong = not all(text for text in texts([block])) or sum(map(len, texts([block]))) > 4_000
        elif block["type"] == "image":
            wrong = not 0 < len(block["alt_text"]) <= 2_000
        else:
            wrong = True
        if wrong:
            return "invalid_blocks"
    return ""


def _wrong_button(button: Mapping[str, Any]) -> bool:
    lengths = (("action_id", 255), ("value", 2_000), ("url", 3_000), ("accessibility_label", 75))
    return len(button["text"]["text"]) > 75 or any(len(button.get(name, "")) > limit for name, limit in lengths)


def signed(body: bytes, *, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    """Headers that Slack puts on a request."""
    stamp = str(int(time.time() if at is None else at))
    signature = hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={signature}"}


def form(payload: Mapping[str, Any]) -> bytes:
    """How Slack writes commands, and, under ``payload``, what people press."""
    return urlencode(payload).encode()


def _handler(slack: FakeSlack) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = urlsplit(self.path)
            if path.path.startswith("/upload/"):
                slack.files[path.path.removeprefix("/upload/")] = sent
                self._send(slack.uploads, b"OK")
                return
            raw = sent.decode()
            is_json = "json" in self.headers.get("Content-Type", "")
            given = json.loads(raw) if is_json and raw else {k: v[0] for k, v in parse_qs(raw or path.query).items()}
            if path.path.startswith("/response/"):
                slack.responses.append(given)
                self._send(200, b"ok")
                return
            if slack.busy:
                slack.busy -= 1
                self._send(429, b'{"ok": false, "error": "ratelimited"}', {"Retry-After": "1"})
                return
            token = self.headers.get("Authorization", "").removeprefix("Bearer ") or given.pop("token", "")
            self._send(200, json.dumps(slack.call(path.path.removeprefix("/api/"), token, given)).encode())

        def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@contextmanager
def fake_slack(**tokens: str) -> Iterator[FakeSlack]:
    """A Slack for the block, with a workspace for each token; one of its own when none is given."""
    slack = FakeSlack(tokens={token: team for team, token in tokens.items()} or {"xoxb-one": "T1"})
    try:
        yield slack
    finally:
        slack.close()
