"""Replies of real servers, recorded once and served again to the same requests.

``python -m tests.tools.NAME.server`` records anew where the real program is there: after a change of what a tool asks.
"""

from __future__ import annotations

import gzip
import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl

import httpx
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from revelio.tools.base import Scope
from revelio.types import Window

FOLDER = Path(__file__).parent / "recordings"


def key(method: str, path: str, query: str, body: str) -> str:
    """What tells one request from another."""
    return f"{method} {path} {json.dumps(sorted(parse_qsl(query)))} {body}"


class Recording:
    """The replies of one server to the requests of one moment."""

    def __init__(self, name: str, scope: Scope, replies: dict[str, tuple[int, str, str]] | None = None) -> None:
        self.name = name
        self.scope = scope
        self.replies = replies or {}
        self.product: dict[str, str] = {}

    @classmethod
    def load(cls, name: str) -> Recording:
        """One that was saved."""
        read = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
        scope = Scope(read["project"], Window(*read["window"]), Window(*read["baseline"]))
        recording = cls(name, scope, {k: tuple(v) for k, v in read["replies"].items()})
        recording.product = read.get("product", {})
        return recording

    def save(self) -> None:
        """Write it beside the others."""
        scope = self.scope
        told: Mapping[str, object] = {
            "project": scope.project,
            "window": [scope.window.start, scope.window.end],
            "baseline": [scope.baseline.start, scope.baseline.end],
            "product": self.product,
            "replies": self.replies,
        }
        FOLDER.mkdir(exist_ok=True)
        packed = gzip.compress(json.dumps(told, indent=0, sort_keys=True).encode(), mtime=0)
        (FOLDER / f"{self.name}.json.gz").write_bytes(packed)

    def replay(self, server: HTTPServer) -> None:
        """Let a test's server answer as the real one did."""

        def answer(request: Request) -> Response:
            asked = key(request.method, request.path, request.query_string.decode(), request.get_data(as_text=True))
            if asked not in self.replies:
                return Response(f"not recorded: {asked}", 501, mimetype="text/plain")
            status, kind, text = self.replies[asked]
            return Response(text, status, self.product, content_type=kind)

        server.expect_request(re.compile(".*")).respond_with_handler(answer)

    def record(self, server: HTTPServer, real: str, headers: Mapping[str, str]) -> None:
        """Pass requests on to the real server, and keep its replies."""

        def pass_on(request: Request) -> Response:
            body = request.get_data()
            query = request.query_string.decode()
            kind = {"Content-Type": request.content_type} if request.content_type else {}
            url = f"{real}{request.path}" + (f"?{query}" if query else "")
            kind |= {"Accept": request.headers.get("Accept", "*/*"), **headers}
            got = httpx.request(request.method, url, content=body, headers=kind, timeout=20.0)
            told = got.headers.get("content-type", "")
            self.replies[key(request.method, request.path, query, body.decode())] = (got.status_code, told, got.text)
            self.product = {k: v for k, v in got.headers.items() if k == "x-elastic-product"}
            return Response(got.content, got.status_code, self.product, content_type=told)

        server.expect_request(re.compile(".*")).respond_with_handler(pass_on)


@contextmanager
def recorded(name: str, scope: Scope, real: str, headers: Mapping[str, str] | None = None) -> Iterator[str]:
    """An address that passes everything on to the real server, and is saved under that name in the end."""
    recording = Recording(name, scope)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with HTTPServer(host="127.0.0.1") as between:
        recording.record(between, real, headers or {})
        yield between.url_for("").rstrip("/")
        between.check()
    recording.save()
    sys.stdout.write(f"{name}: {len(recording.replies)} replies\n")
