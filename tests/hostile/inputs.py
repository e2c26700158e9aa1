"""Hostile inputs: texts, bodies, names, headers and signed deliveries. Made from a seed, so that a run can be had again."""

from __future__ import annotations

import hashlib
import hmac
import json
import random
import time
from collections.abc import Iterator
from urllib.parse import urlencode

TEXTS = (
    "",
    " ",
    "\x00",
    "x" * 1_000_000,
    "4" * 20_000,
    "4111 1111 1111 1111 " * 900,
    "a@" * 10_000,
    "password=" * 2_000,
    "[" * 10_000,
    "\u202eabc",
    "﷽" * 5_000,
    "\ufeffx",
    "👩‍👩‍👧‍👦" * 900,
    "a\u0301" * 5_000,
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "';DROP TABLE answers;--",
    "${jndi:ldap://127.0.0.1/x}",
    "{{7*7}}{% for %}",
    "%s%n%x",
    "../../../../etc/passwd",
    "\x1b[2J\x1b]0;x\x07",
    "http://127.0.0.1:1/",
    "\r\nSet-Cookie: a=b",
    "NaN",
    "-1",
    "9" * 22,
    "1e999",
    "\ud800",
)
NAMES = (
    "9" * 22,
    "0",
    "-1",
    "%00",
    "..%2f..%2fetc%2fpasswd",
    "%ff%fe",
    "x" * 5_000,
    "'",
    "<b>",
    "shop-0001",
    "%F0%9F%92%A9",
    "null",
)
"""Parts of an address, quoted."""
PATHS = (
    "/r/{}",
    "/history?before={}",
    "/history?q={}&since={}&page={}",
    "/systems/{}",
    "/systems/{}/look",
    "/catalog?q={}",
    "/?incident={}",
    "/?again={}",
    "/audit?past={}",
    "/static/{}",
    "/{}",
    "/api/v1/recommendations/{}",
    "/api/v1/recommendations?cursor={}&limit={}",
    "/api/v1/recommendations/{}/feedback",
    "/api/v1/recommendations/{}/queries/{}/run",
    "/api/v1/tokens/{}",
    "/api/v1/users/{}",
    "/api/v1/webhooks/incidents/{}",
    "/sign-in?next={}",
    "/sign-in/back?state={}&code={}",
    "/slack/oauth_redirect?state={}&code={}",
)
HEADERS: tuple[dict[str, str | bytes], ...] = (
    {"host": "evil.example"},
    {"host": "a b"},
    {"host": "[::1"},
    {"host": "x" * 3_000},
    {"cookie": "revelio=" + "x" * 6_000},
    {"cookie": "revelio-attempt=" + ("5b" * 3_000)},
    {"authorization": "Bearer " + "x" * 5_000},
    {"authorization": "Basic " + "=" * 500},
    {"content-length": "-1"},
    {"content-length": "9" * 30},
    {"content-type": "application/json; charset=utf-7"},
    {"content-type": "multipart/form-data"},
    {"content-encoding": "gzip"},
    {"transfer-encoding": "gzip, chunked"},
    {"expect": "100-continue"},
    {"x-forwarded-for": "1.2.3.4, " * 500},
    {"x-forwarded-proto": "gopher"},
    {"x-request-id": "a\tb" * 40},
    {"idempotency-key": "\x7f" * 300},
    {"range": "bytes=0-,5-,1-" + ",0-" * 500},
    {"accept-language": "*;q=" + "9" * 500},
    {"traceparent": "00-" + "z" * 60},
    {"origin": "null"},
    {"upgrade": "websocket", "connection": "upgrade"},
    {"x-odd": b"\xff\xfe"},
)


def bodies(chance: random.Random) -> Iterator[bytes]:
    """Bodies that are no good question, without end."""
    while True:
        kind = chance.randrange(8)
        if kind == 0:
            yield chance.randbytes(chance.randrange(600))
        elif kind == 1:
            yield b"[" * chance.randrange(1, 5_000)
        elif kind == 2:
            yield json.dumps(_tree(chance, 0)).encode()
        elif kind == 3:
            good = json.dumps(
                {"report": chance.choice(TEXTS)[:3_000], "incident": "x", "k": chance.choice([0, -1, 10**30, 1.5, None])}
            )
            at = chance.randrange(len(good))
            yield good[:at].encode("utf-8", "surrogatepass") + chance.randbytes(3) + good[at:].encode("utf-8", "surrogatepass")
        elif kind == 4:
            yield b'{"report":' * chance.randrange(1, 900) + b"1"
        elif kind == 5:
            yield ("report=" + chance.choice(TEXTS)[:5_000] + "&about=" + chance.choice(NAMES)).encode("utf-8", "replace")
        elif kind == 6:
            yield b'{"report": "x", "opened_at": ' + str(chance.choice(["1e999", "-1e308", "NaN", "9" * 300])).encode() + b"}"
        else:
            yield b"&".join(b"a%d=%d" % (n, n) for n in range(chance.randrange(40)))


def nested(depth: int) -> bytes:
    """A webhook whose labels are nested that deep."""
    return (
        b'{"status": "firing", "groupKey": "k", "alerts": [{"status": "firing", "labels": '
        + (b'{"a": ' * depth + b"1" + b"}" * depth)
        + b"}]}"
    )


def webhook_bodies(chance: random.Random) -> Iterator[bytes]:
    """Bodies that are no good alert, without end."""
    yield from (nested(depth) for depth in (50, 400, 500, 900, 5_000))
    yield from (b"[" * depth + b"]" * depth for depth in (500, 950, 50_000))
    good = {"status": "firing", "groupKey": "k", "receiver": "r", "alerts": [{"status": "firing", "labels": {"system": "kind"}}]}
    while True:
        changed = json.loads(json.dumps(good))
        changed[chance.choice([*good, "groupLabels", "title", "commonAnnotations"])] = _tree(chance, 1)
        yield json.dumps(changed).encode()


def slack_deliveries(chance: random.Random) -> Iterator[tuple[str, bytes, str]]:
    """Path, body and content type of deliveries that Slack would never send, without end."""
    form, plain = "application/x-www-form-urlencoded", "application/json"
    trees = ("null", "[]", "1", '"x"', "{", "[" * 2_000, '{"type": {}}', '{"type": "block_actions"}')
    yield from (("/slack/actions", urlencode({"payload": tree}).encode(), form) for tree in trees)
    yield from (("/slack/events", tree.encode(), plain) for tree in (*trees, '{"type": "event_callback", "event": [1]}', "\x00"))
    yield from (("/slack/commands", body, form) for body in (b"", b"command=/revelio", b"payload=%ff", b"\xff\xfe", b"a=" * 500))
    while True:
        event: dict[str, object] = {
            "type": "event_callback",
            "team_id": "T1",
            "event": {"type": "app_mention", "text": "x", "channel": "C1", "ts": "1"},
        }
        event[chance.choice(["type", "event", "team_id", "authorizations", "event_id"])] = _tree(chance, 1)
        yield "/slack/events", json.dumps(event).encode(), plain
        action: dict[str, object] = {
            "type": "block_actions",
            "user": {"id": "U"},
            "team": {"id": "T"},
            "actions": [{"action_id": "revelio_run"}],
        }
        action[chance.choice([*action, "container", "message", "channel"])] = _tree(chance, 1)
        yield "/slack/actions", urlencode({"payload": json.dumps(action)}).encode(), form
        command = {
            "command": "/revelio",
            "text": chance.choice(TEXTS)[:2_000],
            "channel_id": "C",
            "user_id": "U",
            "trigger_id": "1",
        }
        command.pop(chance.choice(list(command)))
        yield "/slack/commands", urlencode(command, errors="replace").encode(), form


def signed(body: bytes, secret: str) -> dict[str, str]:
    """The headers with which Slack would sign this."""
    stamp = str(int(time.time()))
    digest = hmac.new(secret.encode(), f"v0:{stamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={digest}"}


def _tree(chance: random.Random, depth: int) -> object:
    kind = chance.randrange(9 if depth < 4 else 7)
    if kind == 7:
        return [_tree(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 8:
        return {chance.choice(["a", "report", "type", "id", "", "labels"]): _tree(chance, depth + 1) for _ in range(3)}
    return (None, True, -1, 10**40, 1e308, chance.choice(TEXTS)[:400], chance.choice(TEXTS)[:40])[kind]
