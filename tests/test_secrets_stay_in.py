"""Whatever form a secret has, and wherever the settings hold it, no output of Revelio holds a part of it."""

from __future__ import annotations

import base64
import json
import logging
import socket
import tempfile
import threading
from contextlib import closing
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from revelio.catalog import bundled_catalog
from revelio.settings import Settings
from revelio.support.telemetry_logs import JsonLines, TextLines
from revelio.systems.system import open_system
from tests.tools.ill_server import HEAD, ill_server
from tests.tools.test_limits import ADDRESSES
from tests.webui import made
from webui.app import create_app

SECRET_PARTS = ("c4nAry", "s3cRet")
"""What every secret begins and ends with: a driver that reads an address wrongly repeats a piece of its password."""
BETWEEN = st.sampled_from(["", "/", " ", "@", ":", "?", "#", "%", "/12/", "'", '"', "\\", "&", "+", "=", ";", "é", "12/3@ "])
HTTP = [tool for tool, form in ADDRESSES.items() if form == "http://{}" and tool != "elasticsearch"]


@dataclass(frozen=True)
class Planted:
    """A backend's settings that hold a secret."""

    backend: dict[str, object]


def echo_all(connection: socket.socket, stop: threading.Event) -> None:
    """An error in the protocol that was spoken, which repeats all that the client sent."""
    connection.settimeout(1.0)
    said = connection.recv(65536)
    if said[4:8] == b"\x04\xd2\x16\x2f":  # PostgreSQL asks for TLS
        connection.sendall(b"N")
        said = connection.recv(65536)
    if said[4:8] == b"\x00\x03\x00\x00":  # PostgreSQL greets; it is asked for its password
        connection.sendall(b"R" + (8).to_bytes(4, "big") + (3).to_bytes(4, "big"))
        said += connection.recv(65536)
        words = b"SFATAL\0C28P01\0M" + said.replace(b"\0", b" ") + b"\0\0"
        connection.sendall(b"E" + (len(words) + 4).to_bytes(4, "big") + words)
    elif said[:1] == b"*":  # Redis
        connection.sendall(b"-ERR " + said.replace(b"\r\n", b" ") + b"\r\n")
    else:
        decoded = b" ".join(_decoded(part) for part in said.split())
        text = json.dumps({"error": (said + decoded).decode("utf-8", "replace")}).encode()
        head = HEAD.replace(b"200 OK", b"400 No") + f"Content-Length: {len(text)}\r\n\r\n".encode()
        connection.sendall(head + text)


def _decoded(part: bytes) -> bytes:
    try:
        return base64.b64decode(part, validate=True)
    except ValueError:
        return b""


@st.composite
def planted(draw: st.DrawFn, tool: str, place: str) -> Planted:
    """A secret in one of the places where the settings of this kind of backend can hold one."""
    secret = SECRET_PARTS[0] + draw(BETWEEN) + SECRET_PARTS[1]
    encoded = draw(st.sampled_from([quote(secret, safe=""), quote(secret, safe=""), secret]))
    scheme, _, rest = ADDRESSES[tool].format(place).replace("observer@", "").partition("://")
    forms = [
        f"{scheme}://me:{encoded}@{rest}",
        f"{scheme}://{encoded}@{rest}",
        f"{scheme}://:{encoded}@{rest}",
        f"//me:{encoded}@{rest}",
    ]
    if tool in ("postgres", "mysql"):  # there, user info without a password is the name of a role
        forms = [forms[0], f"{scheme}://{rest}?password={quote(secret, safe='')}"]
    if tool == "postgres":
        host, _, port = place.partition(":")
        value = secret.replace("\\", "\\\\").replace("'", "\\'")
        forms.append(f"host={host} port={port} user=me password='{value}'")
    if tool == "redis":
        forms.append(f"redis://{place}/0?password={quote(secret, safe='')}")
    backend: dict[str, object] = {"url": draw(st.sampled_from(forms))}
    if tool in HTTP and draw(st.booleans()):
        carried: dict[str, object] = draw(
            st.sampled_from(
                [
                    {"token": secret},
                    {"user": "me", "password": secret},
                    {"headers": {"X-Api-Key": secret}},
                    {"proxy": f"http://me:{encoded}@{place}"},
                    {"url": f"http://{place}/x?sv=1&sig={quote(secret, safe='')}"},
                ]
            )
        )
        backend = {"url": f"http://{place}", "link": f"http://me:{encoded}@{place}", **carried}
    return Planted(backend)


def outputs(client: TestClient) -> str:
    """All that the pages and the API say of the system, and of an answer about it whose queries were run."""
    said = []
    asked = client.post("/api/v1/recommendations", json={"report": "the cart hangs", "system": "shop", "run": True})
    said.append(asked.text)
    assert asked.status_code == 200, asked.text
    answer = asked.json()
    for query in answer["queries"][:2]:
        said.append(client.post(f"/api/v1/recommendations/{answer['id']}/queries/{query['id']}/run").text)
    said.append(client.post("/systems/shop/look", headers={"sec-fetch-site": "same-origin"}).text)
    paths = ["/settings", "/systems", "/systems/shop", "/history", f"/r/{answer['id']}", f"/r/{answer['id']}/post-mortem.md"]
    paths += [
        "/api/v1/systems",
        "/api/v1/recommendations",
        f"/api/v1/recommendations/{answer['id']}",
        "/metrics",
        "/readyz",
        "/model",
        "/catalog",
    ]
    for path in paths:
        reply = client.get(path)
        assert reply.status_code < 500 or path == "/readyz", path
        said.append(reply.text)
    return "\n".join(said)


def found_in(text: str) -> list[str]:
    """The parts of secrets that a text holds; base 64 hides none either."""
    encoded = [base64.b64encode(b"me:" + SECRET_PARTS[0].encode())[:8].decode()]
    return [part for part in (*SECRET_PARTS, *encoded) if part in text]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a server that hangs up leaves sockets to the end
@given(data=st.data())
@settings(max_examples=6, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_no_output_holds_a_part_of_a_secret(data: st.DataObject) -> None:
    log = StringIO()
    handlers = [logging.StreamHandler(log), logging.StreamHandler(log)]
    for handler, form in zip(handlers, (TextLines(), JsonLines()), strict=True):
        handler.setFormatter(form)
        logging.getLogger().addHandler(handler)
    try:
        with ill_server(echo_all) as place, tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            plants = {tool: data.draw(planted(tool, place), label=tool).backend for tool in ADDRESSES}
            said = _said(folder, plants)
            said += "".join(
                p.read_bytes().decode("latin-1") for p in folder.rglob("*") if p.is_file() and p.name != "revelio.toml"
            )
        assert found_in(said + log.getvalue()) == []
    finally:
        for handler in handlers:
            logging.getLogger().removeHandler(handler)


def _said(folder: Path, plants: dict[str, dict[str, object]]) -> str:
    """What Revelio says with these backends; those whose address is refused are left out, and what is said of them is kept."""
    said, taken = [], {}
    base = made.settings(folder, made.record())
    for tool, backend in plants.items():
        try:
            Settings(systems={"shop": {"backends": {tool: backend}}})
            taken[tool] = backend
        except ValueError as error:
            said.append(str(error))
    backends = Settings(systems={"shop": {"backends": taken}}).systems
    wanted = base.model_copy(update={"systems": backends, "timeout_s": 0.4, "catalog": [], "rate_limit": 0})
    with TestClient(create_app(wanted, recommender=made.stand_in(base)), client=("127.0.0.1", 1)) as client:
        said.append(outputs(client))
    with closing(open_system("shop", wanted.systems["shop"], bundled_catalog(), 0.4)) as system:
        said += [f"{state.tool}: {state.detail}" for state in system.ping()]
    return "\n".join(said)
