"""Webhooks prove where they come from."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from ipaddress import ip_network

import pytest

from revelio.integrations.signatures import has_credentials, signed_by_grafana, signed_by_pagerduty
from revelio.service import Service
from revelio.settings import Settings
from tests.integrations.alerting import payload, serving

BODY = b'{"a": 1}'


def sign(body: bytes, secret: str = "s3cret") -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("header", "known"),
    [
        ("Bearer t0ken", True),
        ("bearer t0ken", True),
        ("Bearer t0ke", False),
        ("Bearer ", False),
        ("", False),
        ("t0ken", False),
        (basic("revelio", "pass"), True),
        (basic("revelio", "wrong"), False),
        (basic("other", "pass"), False),
        ("Basic !!!", False),
        ("Basic " + base64.b64encode(b"\xff\xff").decode(), False),
    ],
)
def test_bearer_token_or_password_is_known(header: str, known: bool) -> None:
    assert has_credentials(header, token="t0ken", password="pass") is known


def test_empty_secret_lets_nobody_in() -> None:
    assert not has_credentials("Bearer ", token="", password="")
    assert not has_credentials(basic("revelio", ""), token="", password="")
    assert not signed_by_pagerduty(BODY, f"v1={sign(BODY, '')}", "")
    assert not signed_by_grafana(BODY, sign(BODY, ""), "", timestamp=None, now=0.0)


def test_any_of_pagerdutys_signatures_will_do() -> None:
    assert signed_by_pagerduty(BODY, f"v1={sign(BODY, 'older')}, v1={sign(BODY)}", "s3cret")
    assert not signed_by_pagerduty(BODY, f"v0={sign(BODY)}", "s3cret")
    assert not signed_by_pagerduty(BODY + b" ", f"v1={sign(BODY)}", "s3cret")
    assert not signed_by_pagerduty(BODY, "", "s3cret")


def test_grafanas_signature_covers_a_fresh_timestamp() -> None:
    now = 1_790_000_000
    stamped = sign(f"{now}:".encode() + BODY)
    assert not signed_by_grafana(BODY, sign(BODY), "s3cret", timestamp=None, now=now), "it could be sent again for ever"
    assert signed_by_grafana(BODY, stamped, "s3cret", timestamp=str(now), now=now + 200)
    assert not signed_by_grafana(BODY, stamped, "s3cret", timestamp=str(now), now=now + 301)
    assert not signed_by_grafana(BODY, stamped, "s3cret", timestamp=str(now + 1), now=now)
    assert not signed_by_grafana(BODY, stamped, "s3cret", timestamp="soon", now=now)


@pytest.mark.parametrize(
    ("source", "setting", "headers"),
    [
        ("alertmanager", {"alertmanager_token": "s3cret"}, {"Authorization": "Bearer s3cret"}),
        ("alertmanager", {"alertmanager_password": "s3cret"}, {"Authorization": basic("revelio", "s3cret")}),
        ("grafana", {"grafana_token": "s3cret"}, {"Authorization": "Bearer s3cret"}),
        ("grafana", {"grafana_password": "s3cret"}, {"Authorization": basic("revelio", "s3cret")}),
        ("grafana", {"grafana_secret": "s3cret"}, {"X-Grafana-Alerting-Signature": "STAMPED"}),
        ("pagerduty", {"pagerduty_secret": "s3cret"}, {"X-PagerDuty-Signature": "v1=BODY"}),
    ],
)
def test_source_with_its_secret_is_let_in_and_without_it_refused(
    settings: Settings, service: Service, source: str, setting: dict[str, str], headers: dict[str, str]
) -> None:
    body, now = json.dumps(payload(source)).encode(), str(int(time.time()))
    stamped = sign(f"{now}:".encode() + body)
    given = {name: value.replace("BODY", sign(body)).replace("STAMPED", stamped) for name, value in headers.items()}
    if "STAMPED" in headers.values():
        given["X-Grafana-Alerting-Timestamp"] = now
    with serving(settings, service, None, **setting) as server:
        path = f"/api/v1/webhooks/{source}"
        assert server.client.post(path, content=body).status_code == 401
        assert server.client.post(path, content=body + b" ", headers=given | {"Authorization": "Bearer no"}).status_code == 401
        assert server.incidents() == []
        assert server.client.post(path, content=body, headers=given).status_code == 202


@pytest.mark.parametrize("source", ["alertmanager", "grafana", "pagerduty"])
@pytest.mark.parametrize(
    ("changes", "client_at", "headers"),
    [
        ({"host": "0.0.0.0"}, "127.0.0.1", {}),
        ({"trusted_proxies": [ip_network("127.0.0.1")]}, "127.0.0.1", {}),
        ({"accounts": True}, "127.0.0.1", {}),
        ({}, "203.0.113.7", {}),
        ({}, "", {}),
        ({}, "127.0.0.1", {"X-Forwarded-For": "203.0.113.7"}),
        ({}, "127.0.0.1", {"Forwarded": "for=203.0.113.7"}),
        ({}, "127.0.0.1", {"Via": "1.1 proxy"}),
    ],
)
def test_source_without_a_secret_is_open_to_this_machine_alone(
    settings: Settings, service: Service, source: str, changes: dict[str, object], client_at: str, headers: dict[str, str]
) -> None:
    with serving(settings.model_copy(update=changes), service, client_at=client_at) as server:
        reply = server.client.post(f"/api/v1/webhooks/{source}", json=payload(source), headers=headers)
        assert reply.status_code == 403
        assert "[alerts]" in reply.json()["detail"]
        assert server.incidents() == []
