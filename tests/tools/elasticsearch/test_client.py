"""The official client within this project's limits: several nodes, credentials, refusals that say what to do, no redirects."""

from __future__ import annotations

import base64
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic import ValidationError
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from revelio.errors import SourceError
from revelio.settings import Backend, SystemSettings
from revelio.tools.base import Limits
from revelio.tools.elasticsearch.client import Client
from revelio.tools.fetch import StatusError, TooLargeError
from tests.tools.ill_server import hang, ill_server

PRODUCT = {"X-Elastic-Product": "Elasticsearch"}
HEALTH = "/_cluster/health"
NOBODY = "http://127.0.0.1:9"


@contextmanager
def client(seconds: float = 5.0, **settings: object) -> Iterator[Client]:
    made = Client("logs", Backend.model_validate(settings), Limits(seconds=seconds, bytes=100_000))
    try:
        yield made
    finally:
        made.close()


def health(asked: Client) -> object:
    with asked.asking() as elasticsearch:
        return elasticsearch.cluster.health().body


@pytest.fixture
def well(httpserver: HTTPServer) -> str:
    """The address of a node that is well."""
    httpserver.expect_request(HEALTH).respond_with_json({"status": "green"}, headers=PRODUCT)
    return httpserver.url_for("").rstrip("/")


@pytest.fixture
def other() -> Iterator[HTTPServer]:
    """A second node."""
    with HTTPServer(host="127.0.0.1") as server:
        yield server


def test_a_node_stands_in_for_one_that_is_down(well: str) -> None:
    with client(hosts=[NOBODY, well]) as asked:
        assert [health(asked) for _ in range(4)] == [{"status": "green"}] * 4


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize("body", ['{"error":"no master"}', "<html>bad gateway"])
def test_a_node_stands_in_for_one_that_cannot_serve(well: str, other: HTTPServer, status: int, body: str) -> None:
    other.expect_request(HEALTH).respond_with_data(body, status=status, headers=PRODUCT)
    with client(hosts=[other.url_for(""), well]) as asked:
        assert [health(asked) for _ in range(4)] == [{"status": "green"}] * 4


def test_a_node_that_takes_no_connection_leaves_time_for_another(well: str) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        with client(seconds=2.0, hosts=[f"http://127.0.0.1:{full.getsockname()[1]}", well]) as asked:
            assert [health(asked) for _ in range(2)] == [{"status": "green"}] * 2
        for one in waiting:
            one.close()


def test_a_node_that_does_not_answer_is_passed_over_next_time(well: str) -> None:
    with ill_server(hang) as silent, client(seconds=1.0, hosts=[f"http://{silent}", well]) as asked:
        answers = []
        for _ in range(3):
            try:
                answers.append(health(asked))
            except SourceError as error:
                answers.append(error.reason)
    assert sum(answer == {"status": "green"} for answer in answers) >= 2, answers


def test_all_nodes_together_have_the_limit_of_time() -> None:
    with ill_server(hang) as one, ill_server(hang) as two, client(seconds=0.5, hosts=[f"http://{one}", f"http://{two}"]) as asked:
        began = time.monotonic()
        with pytest.raises(SourceError, match=r"gave no answer within 0\.5 s"):
            health(asked)
        assert time.monotonic() - began < 3.0


def test_nodes_that_are_all_down_are_all_named() -> None:
    with client(url=NOBODY, hosts=["http://127.0.0.1:19"]) as asked, pytest.raises(SourceError) as caught:
        health(asked)
    assert "none of its 2 nodes answers" in caught.value.reason
    assert "http://127.0.0.1:9: [Errno 111] Connection refused" in caught.value.reason
    assert "http://127.0.0.1:19: [Errno 111] Connection refused" in caught.value.reason


def test_the_first_of_the_hosts_is_the_url_where_none_is_given() -> None:
    assert Backend.model_validate({"hosts": ["http://a:9200", "http://b:9200/"]}).addresses == ("http://a:9200", "http://b:9200")
    assert Backend(url="http://a:9200/", hosts=["http://b:9200", "http://a:9200"]).addresses == ("http://a:9200", "http://b:9200")


@pytest.mark.parametrize(("name", "product"), [("opensearch", ""), ("elasticsearch", "opensearch"), ("prometheus", "")])
def test_several_hosts_of_a_source_that_has_one_are_refused(name: str, product: str) -> None:
    several = {"hosts": ["http://a:9200", "http://b:9200"], "product": product}
    with pytest.raises(ValidationError, match="has several hosts, which only elasticsearch can have"):
        SystemSettings.model_validate({"backends": {name: several}})
    SystemSettings.model_validate({"backends": {"elasticsearch-eu": several | {"product": ""}, name: {"hosts": ["http://a"]}}})


KEY = "VuaCfGcBCdbkQm-e5aOx:ui2lp2axTNmsyakw9tvNnw"
ENCODED = base64.b64encode(KEY.encode()).decode()


@pytest.mark.parametrize(
    ("settings", "header"),
    [
        ({"api_key": KEY}, f"ApiKey {ENCODED}"),
        ({"api_key": ENCODED}, f"ApiKey {ENCODED}"),
        ({"token": "abcdef"}, "Bearer abcdef"),
        ({"user": "elastic", "password": "changeme"}, "Basic ZWxhc3RpYzpjaGFuZ2VtZQ=="),
    ],
)
def test_credentials_are_sent_as_elasticsearch_expects_them(
    httpserver: HTTPServer, settings: dict[str, Any], header: str
) -> None:
    httpserver.expect_request(HEALTH, headers={"Authorization": header}).respond_with_json({"status": "green"}, headers=PRODUCT)
    with client(url=httpserver.url_for(""), **settings) as asked:
        assert health(asked) == {"status": "green"}


MISSING = "missing authentication credentials for REST request [/_cluster/health]"


@pytest.mark.parametrize(
    ("settings", "told", "words"),
    [
        ({}, MISSING, "needs an API key or a user; set api_key_file, api_key_env or user"),
        ({"api_key": KEY}, f"unable to authenticate with {ENCODED} or {KEY}", "refuses the API key in api_key"),
        ({"api_key": ENCODED}, f"unable to authenticate with {KEY} or {KEY.partition(':')[2]}", "refuses the API key in api_key"),
        ({"user": "elastic", "password": "changeme"}, "unable to authenticate user [elastic]", "refuses the user 'elastic'"),
    ],
)
def test_a_refusal_says_what_to_do_and_repeats_no_secret(
    httpserver: HTTPServer, settings: dict[str, Any], told: str, words: str
) -> None:
    error = {
        "error": {"root_cause": [{"type": "security_exception", "reason": told}], "type": "x", "reason": told},
        "status": 401,
    }
    httpserver.expect_request(HEALTH).respond_with_json(error, status=401, headers=PRODUCT)
    with client(url=httpserver.url_for(""), **settings) as asked, pytest.raises(StatusError) as caught:
        health(asked)
    assert caught.value.status == 401
    assert words in caught.value.reason
    for secret in (KEY, ENCODED, KEY.partition(":")[2], "changeme"):
        assert secret not in caught.value.reason


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"status": "green"}),
        (406, {"error": "Accept header [application/vnd.elasticsearch+json; compatible-with=8] is not supported"}),
    ],
)
def test_another_product_is_told_apart(httpserver: HTTPServer, status: int, body: dict[str, str]) -> None:
    httpserver.expect_request(HEALTH).respond_with_json(body, status=status)
    url = httpserver.url_for("").rstrip("/")
    with client(url=url) as asked, pytest.raises(SourceError) as caught:
        health(asked)
    assert f"{url} does not answer like Elasticsearch" in caught.value.reason
    assert 'set product = "opensearch"' in caught.value.reason


def test_a_redirect_is_not_followed(httpserver: HTTPServer, other: HTTPServer) -> None:
    head = {**PRODUCT, "Location": other.url_for(HEALTH)}
    httpserver.expect_request(HEALTH).respond_with_data("", status=302, headers=head)
    with client(url=httpserver.url_for(""), api_key=KEY) as asked, pytest.raises(SourceError, match="is not followed"):
        health(asked)
    assert not other.log


def test_an_answer_beyond_the_limit_of_bytes_is_cut_off(httpserver: HTTPServer) -> None:
    httpserver.expect_request(HEALTH).respond_with_data('{"a":"' + "x" * 200_000 + '"}', headers=PRODUCT)
    with client(url=httpserver.url_for("")) as asked, pytest.raises(TooLargeError, match="narrow the window"):
        health(asked)


def test_a_servers_own_warnings_disturb_no_answer(httpserver: HTTPServer) -> None:
    head = {**PRODUCT, "Warning": '299 Elasticsearch-8 "built-in security features are not enabled"'}
    httpserver.expect_request(HEALTH).respond_with_json({"status": "green"}, headers=head)
    with client(url=httpserver.url_for("")) as asked:
        assert health(asked) == {"status": "green"}


def test_text_that_no_utf8_can_say_is_sent_with_question_marks(httpserver: HTTPServer) -> None:
    def echo(request: Request) -> Response:
        return Response(request.get_data(), headers=PRODUCT, mimetype="application/json")

    httpserver.expect_request("/logs/_search").respond_with_handler(echo)
    with client(url=httpserver.url_for("")) as asked, asked.asking() as elasticsearch:
        said = elasticsearch.search(index="logs", query={"match": {"message": "odd \udce9"}}).body
    assert said == {"query": {"match": {"message": "odd ?"}}}
