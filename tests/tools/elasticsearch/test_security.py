"""A real Elasticsearch with security: TLS by an authority of its own, a user, a token; and what is told where one is wrong.

The build that comes from Maven cannot make API keys; which header carries one is shown in ``test_client``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from revelio.errors import SourceError
from revelio.settings import Backend
from revelio.tools.base import Limits
from revelio.tools.elasticsearch.tool import ElasticsearchLogs
from tests.tools.conftest import spec
from tests.tools.elasticsearch.servers import elasticsearch_node, java_home

PASSWORD = "changeme-please"
TLS = {
    "xpack.security.enabled": True,
    "xpack.security.transport.ssl.enabled": False,
    "xpack.security.http.ssl.enabled": True,
    "xpack.security.http.ssl.key": "server.key",
    "xpack.security.http.ssl.certificate": "server.pem",
}
Settings = dict[str, object]


@pytest.fixture(scope="module")
def secured(certificates: Path) -> Iterator[Settings]:
    """Address and authority of the node. Its user is ``revelio``, and ``token`` is that of a service account."""
    printed: list[str] = []

    def prepare(home: Path) -> None:
        for name in ("server.key", "server.pem"):
            shutil.copy(certificates / name, home / "config")
        for program in (
            ("elasticsearch-users", "useradd", "revelio", "-p", PASSWORD, "-r", "superuser"),
            ("elasticsearch-service-tokens", "create", "elastic/fleet-server", "revelio"),
        ):
            command = ["bash", str(home / "bin" / program[0]), *program[1:]]
            environment = {**os.environ, "ES_JAVA_HOME": java_home()}
            printed.append(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)

    with elasticsearch_node(TLS, prepare, "https") as url:
        yield {"url": url, "ca_file": str(certificates / "ca.pem"), "token": printed[-1].rpartition(" = ")[2].strip()}


def ping(settings: Settings, **more: object) -> str:
    backend = Backend.model_validate({**settings, **more})
    with closing(ElasticsearchLogs(spec("elasticsearch"), backend, Limits(seconds=30.0))) as tool:
        return tool.ping()


def test_a_user_and_a_token_are_let_in(secured: Settings) -> None:
    assert "cluster green" in ping(secured)
    assert "cluster green" in ping({**secured, "token": ""}, user="revelio", password=PASSWORD)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "needs an API key or a user; set api_key_file, api_key_env or user"),
        ({"user": "revelio", "password": "wrong-guess"}, "refuses the user 'revelio' and its password"),
        ({"api_key": "VuaCfGcBCdbkQm:wrong-guess"}, "refuses the API key in api_key"),
        ({"token": "wrong-guess"}, "refuses the token in token"),
    ],
)
def test_what_is_missing_or_wrong_is_told(secured: Settings, settings: Settings, words: str) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        ping({**secured, "token": ""}, **settings)
    assert "wrong-guess" not in caught.value.reason


def test_a_certificate_by_an_unknown_authority_says_which_setting_names_it(secured: Settings) -> None:
    with pytest.raises(SourceError, match="set ca_file of its backend"):
        ping({"url": secured["url"], "token": secured["token"]})


def test_an_address_with_http_in_place_of_https_is_told(secured: Settings) -> None:
    with pytest.raises(SourceError, match="cannot be reached at http://"):
        ping({"url": str(secured["url"]).replace("https", "http")})
