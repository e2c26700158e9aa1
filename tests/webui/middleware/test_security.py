"""Headers on everything; no changes on behalf of other sites; no listening for strangers."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from revelio.errors import InvalidInputError, SourceError
from revelio.settings import Settings
from revelio.store import Actor, Store
from tests.webui import made
from tests.webui.conftest import client_on
from webui.app import create_app
from webui.startup import is_loopback, require_safe_address

FORM = {"report": made.REPORT, "about": "incident:shop-0001"}


@pytest.mark.parametrize(
    "path", ["/", "/history", "/nope", "/api/docs", "/api/v1/incidents", "/api/v1/nope", "/static/revelio.css"]
)
def test_every_response_carries_the_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == ("no-cache" if path.startswith("/static") else "no-store")


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://testserver.evil.example"},
        {"origin": "https://testserver"},
    ],
)
def test_changes_from_other_sites_are_refused(client: TestClient, headers: dict[str, str]) -> None:
    page = client.post("/r", data=FORM, headers=headers)
    assert page.status_code == 403
    assert "another site" in page.text
    reply = client.post("/api/v1/recommendations", json={"report": "x", "incident": "shop-0001"}, headers=headers)
    assert reply.status_code == 403
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["content-security-policy"]


@pytest.mark.parametrize(
    "headers", [{}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}, {"origin": "http://testserver"}]
)
def test_changes_from_the_page_itself_and_from_programs_pass(client: TestClient, headers: dict[str, str]) -> None:
    assert client.post("/r", data=FORM, headers=headers).status_code == 303


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "revelio",
        "wpad:8000",
        "evil.",
        "127.0.0.1.evil.example",
        "a b",
        "x/y",
        "[::1",
        "h:port",
        "169.254.169.254",
        "[fe80::1]:8000",
        "[::ffff:169.254.169.254]",
    ],
)
def test_foreign_names_for_this_address_are_refused(client: TestClient, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:8000", "10.0.0.7:8000", "localhost.", "testserver"])
def test_own_names_are_answered_to(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"host": host}).status_code == 200


def test_a_name_of_the_settings_is_answered_to(tmp_path: Path) -> None:
    settings = made.settings(tmp_path).model_copy(update={"names": ["Revelio.example.com"]})
    with client_on(settings) as client:
        assert client.get("/healthz", headers={"host": "revelio.example.com"}).status_code == 200
        assert client.get("/healthz", headers={"host": "other.example.com"}).status_code == 403


def test_under_tls_browsers_are_told_to_stay_there(client: TestClient) -> None:
    assert "strict-transport-security" not in client.get("/healthz").headers
    headers = client.get("https://testserver/healthz").headers
    assert headers["strict-transport-security"].startswith("max-age=")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "::1", "[::1]"])
def test_loopback_is_listened_on(host: str) -> None:
    require_safe_address(Settings(host=host))
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.4", "revelio.example", "127.0.0.1.example"])
def test_any_other_address_is_refused_with_what_to_do(host: str) -> None:
    with pytest.raises(InvalidInputError, match="without authentication"):
        require_safe_address(Settings(host=host))
    require_safe_address(Settings(host=host, accounts=True))


def test_the_application_does_not_start_on_another_address(tmp_path: Path) -> None:
    settings = made.settings(tmp_path).model_copy(update={"host": "0.0.0.0"})
    with pytest.raises(InvalidInputError, match="SSH tunnel"):
        create_app(settings)
    assert not (tmp_path / "revelio.db").exists()


def test_it_does_not_start_either_when_nobody_could_sign_in(tmp_path: Path) -> None:
    settings = made.settings(tmp_path).model_copy(update={"host": "0.0.0.0", "accounts": True})
    with pytest.raises(InvalidInputError, match="revelio users add"):
        create_app(settings)
    store = Store(settings.database)
    store.accounts.add("robin", "responder", "correct horse battery", Actor("test"))
    with pytest.raises(InvalidInputError, match="revelio users add"):
        create_app(settings)
    store.accounts.set_role("robin", "admin", Actor("test"))
    store.close()
    create_app(settings).state.service.store.close()


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_link_or_picture_on_another_site_makes_the_server_ask_its_backends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: str
) -> None:
    asked: list[object] = []

    def ask(*_: object) -> None:
        asked.append(_)
        raise SourceError("prometheus", "asked")

    for method in ("ping", "snapshot", "run"):
        monkeypatch.setattr(f"revelio.systems.system.System.{method}", ask)
    with client_on(made.settings(tmp_path, made.record())) as client:
        for path in ("/systems", "/systems/shop", "/systems/shop?look=now", "/systems/shop/look", "/", "/history", "/readyz"):
            reply = client.get(path, headers={"sec-fetch-site": site})
            assert reply.status_code in (200, 303, 503), path
        assert client.post("/systems/shop/look", headers={"sec-fetch-site": site}).status_code == 403
        assert asked == []
        client.get("/systems", headers={"sec-fetch-site": "same-origin"})
        assert len(asked) == 1
