"""Who asks a backend, with which certificates and through which proxy; and that no message repeats a secret."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits
from revelio.tools.fetch import Fetcher

SECRET = "s3cr3t-t0ken-of-ours"
PATIENT = Limits(seconds=5.0)


def fetcher(url: str, **settings: object) -> Fetcher:
    made = Fetcher("loki", Backend.model_validate({"url": url, **settings}), PATIENT)
    _made.append(made)
    return made


_made: list[Fetcher] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """No connection outlives its test."""
    yield
    while _made:
        _made.pop().close()


def echo(server: HTTPServer) -> str:
    """A server that answers with the headers that came; its address."""
    server.expect_request("/x").respond_with_handler(lambda request: Response(_headers(request), mimetype="application/json"))
    return server.url_for("").rstrip("/")


def _headers(request: Request) -> str:
    return json.dumps({name.lower(): value for name, value in request.headers.items()})


def test_a_token_comes_from_settings_a_file_or_the_environment(
    httpserver: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, path = echo(httpserver), tmp_path / "token"
    path.write_text("first\n")
    monkeypatch.setenv("OUR_TOKEN", "from-env")
    assert fetcher(url, token="plain").get("/x", {})["authorization"] == "Bearer plain"  # type: ignore[index]
    assert fetcher(url, token_env="OUR_TOKEN").get("/x", {})["authorization"] == "Bearer from-env"  # type: ignore[index]
    rotating = fetcher(url, token_file=str(path))
    assert rotating.get("/x", {})["authorization"] == "Bearer first"  # type: ignore[index]
    path.write_text("second\n")
    assert rotating.get("/x", {})["authorization"] == "Bearer second"  # type: ignore[index]


def test_a_user_and_a_tenant_are_sent(httpserver: HTTPServer) -> None:
    seen = fetcher(echo(httpserver), user="ana", password="pw", headers={"X-Scope-OrgID": "team-a"}).get("/x", {})
    assert seen["authorization"] == "Basic YW5hOnB3"  # type: ignore[index]
    assert seen["x-scope-orgid"] == "team-a"  # type: ignore[index]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"token_env": "NOT_SET_ANYWHERE"}, "names NOT_SET_ANYWHERE, which is not set in the environment"),
        ({"token_file": "/nowhere/token"}, "its token_file /nowhere/token cannot be read: No such file"),
        ({"token": "two\nlines"}, "characters that a header cannot carry"),
        ({"ca_file": "/nowhere/ca.pem"}, "its ca_file /nowhere/ca.pem cannot be read"),
    ],
)
def test_a_secret_that_cannot_be_used_is_told_in_words(settings: dict[str, str], words: str) -> None:
    with pytest.raises(SourceError, match="loki: its") as caught:
        fetcher("https://127.0.0.1:9", **settings).get("/x", {})
    assert words in caught.value.reason


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"token": "a", "token_env": "B"}, "token and token_env are both set"),
        ({"token": "a", "user": "b"}, "token and user are both set"),
        ({"api_key": "a", "api_key_file": "b"}, "api_key and api_key_file are both set"),
        ({"api_key_env": "A", "user": "b"}, "api_key_env and user are both set"),
        ({"api_key": "a", "token_env": "B"}, "token_env and api_key are both set"),
        ({"password": "a"}, "a password is set without its user"),
        ({"key_file": "a"}, "key_file is set without its certificate"),
        ({"headers": {"bad name": "x"}}, "cannot be the name of a header"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Backend.model_validate({"url": "http://x", **settings})


@pytest.mark.parametrize(
    ("status", "body", "settings", "words"),
    [
        (401, "", {}, "needs a token or a user; set token_file, token_env or user"),
        (401, "no org id", {}, "needs a tenant; set headers"),
        (401, '{"message": "Unauthorized"}', {"token": SECRET}, "refuses the token in token"),
        (401, "", {"user": "ana", "password": SECRET}, "refuses the user 'ana' and its password"),
        (403, "<html>", {"token": SECRET}, "does not let this account read it"),
        (404, "404 page not found", {}, "is a part of its path missing"),
        (302, "", {}, "sends to another address, which is not followed"),
        (429, "slow down", {}, "refuses more requests"),
    ],
)
def test_an_answer_that_refuses_says_what_to_do(
    httpserver: HTTPServer, status: int, body: str, settings: dict[str, str], words: str
) -> None:
    httpserver.expect_request("/x").respond_with_data(body, status=status)
    with pytest.raises(SourceError) as caught:
        fetcher(httpserver.url_for(""), **settings).get("/x", {})
    assert f"HTTP {status}" in caught.value.reason
    assert words in caught.value.reason


@pytest.mark.parametrize("settings", [{"token": SECRET}, {"user": "ana", "password": SECRET}, {"headers": {"X-Key": SECRET}}])
@pytest.mark.parametrize("status", [400, 401, 403, 500])
def test_no_message_repeats_a_secret_that_the_backend_repeats(
    httpserver: HTTPServer, status: int, settings: dict[str, object]
) -> None:
    def repeat(request: Request) -> Response:
        told = " ".join(v for k, v in request.headers.items() if k in ("Authorization", "X-Key"))
        return Response(f'{{"error": "what is {told} of {SECRET}?"}}', status)

    httpserver.expect_request("/x").respond_with_handler(repeat)
    with pytest.raises(SourceError) as caught:
        fetcher(httpserver.url_for(""), **settings).get("/x", {})
    assert SECRET not in str(caught.value)
    assert "YW5hOn" not in str(caught.value)
    assert SECRET not in repr(Backend.model_validate({"url": "http://x", **settings}))


@pytest.fixture
def private(certificates: Path) -> Iterator[HTTPServer]:
    """A server whose certificate is by the authority, and that wants one by it in turn."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates / "ca.pem")
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    context.verify_mode = ssl.CERT_REQUIRED
    with HTTPServer(host="127.0.0.1", ssl_context=context) as server:
        server.expect_request("/x").respond_with_json({"well": True})
        yield server


def test_an_authority_and_a_client_certificate_of_ones_own(private: HTTPServer, certificates: Path) -> None:
    ca = {"ca_file": str(certificates / "ca.pem")}
    shown = {"cert_file": str(certificates / "client.pem"), "key_file": str(certificates / "client.key")}
    assert fetcher(private.url_for(""), **ca, **shown).get("/x", {}) == {"well": True}
    with pytest.raises(SourceError, match="set ca_file of its backend"):
        fetcher(private.url_for("")).get("/x", {})
    with pytest.raises(SourceError, match="cannot be reached"):
        fetcher(private.url_for(""), **ca).get("/x", {})
    with pytest.raises(SourceError, match=r"its cert_file .* cannot be read"):
        fetcher(private.url_for(""), **ca, cert_file=str(certificates / "client.key")).get("/x", {})


def test_a_proxy_is_asked_instead_and_its_password_is_not_told(httpserver: HTTPServer) -> None:
    """The proxy gets the whole address and the backend's name, which nothing here could resolve."""

    def pass_on(request: Request) -> Response:
        assert request.headers["Proxy-Authorization"] == "Basic YW5hOnMzY3IzdC10MGtlbi1vZi1vdXJz"
        return Response(json.dumps({"host": request.headers["Host"]}), mimetype="application/json")

    httpserver.expect_request("/x").respond_with_handler(pass_on)
    way = f"http://ana:{SECRET}@127.0.0.1:{httpserver.port}"
    assert fetcher("http://loki.invalid:3100", proxy=way).get("/x", {}) == {"host": "loki.invalid:3100"}
    with pytest.raises(SourceError, match="through its proxy") as caught:
        fetcher("http://loki.invalid:3100", proxy=f"http://ana:{SECRET}@127.0.0.1:9").get("/x", {})
    assert SECRET not in str(caught.value)
