"""Whatever is sent, the answer is never a server error, and nothing sent comes back as markup."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)
ANY_TEXT = st.text(st.characters(codec=None), max_size=300) | st.sampled_from(
    [
        "<script>alert(1)</script>",
        "'; DROP TABLE feedback; --",
        "${jndi:ldap://x}",
        "{{7*7}}",
        "%s%n",
        "\u202eabc",
        "﷽" * 50,
        "\x1b[31m",
    ]
)
fuzz = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def refused_or_answered(status: int) -> bool:
    return 200 <= status < 500


@fuzz
@given(content=st.binary(max_size=400))
def test_bytes_to_the_api(client: TestClient, content: bytes) -> None:
    for kind in ("application/json", "text/plain"):
        reply = client.post("/api/v1/recommendations", content=content, headers={"content-type": kind})
        assert 400 <= reply.status_code < 500


@fuzz
@given(body=ANY_JSON)
def test_json_to_the_api(client: TestClient, body: Any) -> None:
    import json

    content = json.dumps(body).encode()
    for path in ("/api/v1/recommendations", "/api/v1/recommendations/x/feedback"):
        reply = client.post(path, content=content, headers={"content-type": "application/json"})
        assert 400 <= reply.status_code < 500


@fuzz
@given(report=ANY_TEXT, name=st.sampled_from(["shop-0001", "shop-0002"]), k=st.integers(-2, 60))
def test_reports_to_the_api(client: TestClient, report: str, name: str, k: int) -> None:
    import json

    content = json.dumps({"report": report, "incident": name, "k": k}).encode()
    reply = client.post("/api/v1/recommendations", content=content, headers={"content-type": "application/json"})
    assert refused_or_answered(reply.status_code)
    if reply.status_code == 200:
        assert reply.json()["report"] == report.strip()
        page = client.get(f"/r/{reply.json()['id']}")
        assert page.status_code == 200
        assert "<script>alert" not in page.text


@fuzz
@given(content=st.binary(max_size=300), prefix=st.sampled_from([b"", b"report=", b"report=x&about=", b"query_id="]))
def test_bytes_to_the_forms(client: TestClient, content: bytes, prefix: bytes) -> None:
    for path in ("/r", "/r/nope/run", "/r/nope/feedback"):
        reply = client.post(path, content=prefix + content, headers={"content-type": "application/x-www-form-urlencoded"})
        assert 300 <= reply.status_code < 500


@fuzz
@given(name=st.text(max_size=60))
def test_names_in_addresses(client: TestClient, name: str) -> None:
    from urllib.parse import quote

    try:
        part = quote(name, safe="")
    except UnicodeEncodeError:
        return
    for path in (
        f"/r/{part}",
        f"/api/v1/recommendations/{part}",
        f"/?incident={part}",
        f"/history?before={part}",
        f"/static/{part}",
    ):
        assert refused_or_answered(client.get(path).status_code)
