"""Names at their worst, through every source: what is sent and what is shown keeps its form, whatever a name holds."""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, unquote_plus, urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from revelio.catalog import bundled_catalog
from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits, Tool
from revelio.tools.registry import make_tool
from revelio.types import Query
from tests.hostile.polite import answer_to
from tests.tools.conftest import HOSTILE_NAMES, SCOPE, filled, hostile, spec

OVER_HTTP = ("elasticsearch", "opensearch", "loki", "tempo", "jaeger", "prometheus", "victoriametrics", "kubernetes")
HARMLESS = "car t"
"""A name that every language has to quote, and that means nothing in any."""

_STRING = re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
_WORD = re.compile(r"=[A-Za-z_][\w.-]*(?= |$)", re.ASCII)
"""What logfmt need not quote."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class _Answering(BaseHTTPRequestHandler):
    """Answers politely, and notes the form of what it was asked."""

    protocol_version = "HTTP/1.1"
    asked: set[str]
    name: str
    carried = False

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        type(self).asked.add(form_of(self.command, self.path, body, type(self).name))
        type(self).carried |= HARMLESS in unquote_plus(f"{self.path} {body.decode()}")
        path = urlsplit(self.path).path
        told = json.dumps(_told(path)).encode()
        self.send_response(200)
        self.send_header("X-Elastic-Product", "Elasticsearch")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    do_GET = do_POST = do_DELETE = do_PUT = do_HEAD = _answer  # noqa: N815  the library's names

    def log_message(self, *_: object) -> None:
        """Quietly."""


def _told(path: str) -> object:
    if "/namespaces/" in path:
        return {"items": []}
    if path.endswith(("/labels", "/values")):
        return {"status": "success", "data": ["service_name"]}
    if path.startswith("/loki/"):
        lines = "streams" if path.endswith("/query_range") else "vector"
        return {"status": "success", "data": {"resultType": lines, "result": []}}
    return answer_to(path)


def form_of(method: str, target: str, body: bytes, name: str) -> str:
    """A request with every value taken out: what is left must not depend on a name."""
    path, _, query = target.partition("?")
    segments = ["NAME" if unquote(s) == clean(name) else _NUMBER.sub("0", s) for s in path.split("/")]
    pairs = [(key, _form(value, name)) for key, value in parse_qsl(query, keep_blank_values=True)]
    try:
        sent: object = _shape(json.loads(body)) if body else None
    except ValueError:
        sent = [(key, _form(value, name)) for key, value in parse_qsl(body.decode(), keep_blank_values=True)]
    return f"{method} {'/'.join(segments)} {pairs} {sent}"


def clean(name: str) -> str:
    """The name as UTF-8 can say it."""
    return name.encode("utf-8", errors="replace").decode()


def _form(value: str, name: str) -> str:
    return "NAME" if value == clean(name) else _NUMBER.sub("0", _WORD.sub('=""', _STRING.sub('""', value)))


def _shape(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _shape(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_shape(value) for value in node]
    return type(node).__name__


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a backend of any kind."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answering) as serving:
        thread = threading.Thread(target=serving.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()
        thread.join(timeout=6.0)


@contextmanager
def tool(product: str, url: str) -> Iterator[Tool]:
    known = bundled_catalog().product(product)
    assert known is not None
    made = make_tool(spec(known.tool), Backend(url=url), Limits(seconds=5.0, rows=50), product, product)
    assert made is not None
    with closing(made):  # type: ignore[type-var]  # each can be closed
        yield made


def asked_for(product: str, url: str, query: Query, name: str) -> set[str]:
    """The forms of all requests that a question leads to."""
    _Answering.asked, _Answering.name = set(), name
    with tool(product, url) as asking, suppress(SourceError):
        asking.run(query, SCOPE)
    return _Answering.asked


@cache
def usual(product: str, url: str, number: int) -> frozenset[str]:
    return frozenset(asked_for(product, url, questions(product, HARMLESS)[number], HARMLESS))


def questions(product: str, name: str) -> list[Query]:
    """The bundled questions that have a blank."""
    known = bundled_catalog().product(product)
    assert known is not None
    return [query for query in filled(known.tool, name) if query.bindings]


@pytest.mark.parametrize("product", OVER_HTTP)
def test_no_name_changes_the_form_of_a_request(server: str, product: str) -> None:
    numbers = range(len(questions(product, HARMLESS)))

    def holds(name: str, number: int) -> None:
        assert asked_for(product, server, questions(product, name)[number], name) == usual(product, server, number)

    for name in HOSTILE_NAMES:
        holds(name, 0)
    names = hostile().filter(lambda name: not name.isdigit())
    settings(deadline=None, max_examples=60)(given(names, st.sampled_from(numbers))(holds))()
    _Answering.carried = False
    for number in numbers:
        asked_for(product, server, questions(product, HARMLESS)[number], HARMLESS)
    assert _Answering.carried or product == "kubernetes", "kubernetes lists all; elsewhere names are sent"


@given(hostile())
def test_no_name_adds_a_word_to_a_kubectl_command(name: str) -> None:
    with tool("kubernetes", "http://127.0.0.1:9") as asking:
        for odd, plain in zip(questions("kubernetes", name), questions("kubernetes", HARMLESS), strict=True):
            said = clean(name.replace("\x00", "\ufffd"))
            expected = [said if word == HARMLESS else word for word in shlex.split(asking.render(plain, SCOPE))]
            assert shlex.split(asking.render(odd, SCOPE)) == expected


_TEXT = re.compile(r"'(?:\\.|''|[^'\\])*'", re.DOTALL)


@given(hostile())
def test_no_name_changes_the_form_of_sql_that_is_shown(name: str) -> None:
    for product in ("mysql", "mariadb"):
        with tool(product, "") as asking:
            for odd, plain in zip(questions(product, name), questions(product, HARMLESS), strict=True):
                assert _TEXT.sub("''", asking.render(odd, SCOPE)) == _TEXT.sub("''", asking.render(plain, SCOPE))


@given(hostile())
@example('x" status=error name="y')
def test_a_name_is_one_value_of_a_search_in_tempo(name: str) -> None:
    """Read as logfmt is: keys, and values that are quoted where they are more than a word."""
    pair = re.compile(r'([A-Za-z_][\w.-]*)=("(?:\\.|[^"\\])*"|[^\s"=]+)(?: |$)')
    with tool("tempo", "http://127.0.0.1:9") as asking:
        for query in questions("tempo", name):
            tags = dict(parse_qsl(asking.render(query, SCOPE).rpartition("?")[2]))["tags"]
            found = list(pair.finditer(tags))
            assert "".join(m[0] for m in found) == tags
            values = [json.loads(m[2]) if m[2].startswith('"') else m[2] for m in found]
            assert clean(name) in values
