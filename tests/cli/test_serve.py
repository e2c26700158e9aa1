"""``revelio serve`` and ``revelio doctor``."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from tests.cli.made import CommandLine
from tests.webui import made


@pytest.fixture
def place(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CommandLine:
    settings = made.settings(tmp_path, made.record())
    monkeypatch.setenv("REVELIO_CATALOG", f'["{settings.catalog[0]}"]')
    monkeypatch.setenv("REVELIO_DATABASE", settings.database)
    return revelio


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def test_serve_hands_the_app_to_the_server_on_the_chosen_address(place: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        seen.extend((server.config.app, sockets[0].getsockname()))
        seen.append(sockets[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        sockets[0].close()

    monkeypatch.setattr("uvicorn.Server.run", run)
    port = _free_port()
    ran = place("serve", "--port", port)
    assert ran.code == 0, ran.err
    assert f"http://127.0.0.1:{port}" in ran.err
    assert (seen[0].title, seen[1]) == ("Revelio", ("127.0.0.1", port))
    assert seen[2], "the body of an answer would wait for the client to confirm its headers"


def test_a_port_that_is_taken_is_said_with_what_to_do(place: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = place("serve", "--port", taken.getsockname()[1])
    assert (ran.code, ran.out) == (1, "")
    assert "Address already in use; choose another with --port" in ran.err


def test_serve_refuses_an_open_address(place: CommandLine) -> None:
    ran = place("serve", "--host", "0.0.0.0")
    assert (ran.code, ran.out) == (1, "")
    assert "0.0.0.0" in ran.err


def test_doctor_names_what_is_broken_and_what_to_do(place: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVELIO_MODEL", "nowhere")
    ran = place("doctor")
    assert ran.code == 1
    states = {what: state for state, what, *_ in (line.split() for line in ran.out.splitlines() if line[0] != " ")}
    assert (states["model"], states["catalog"], states["incidents"]) == ("broken", "good", "good")
    assert "→ revelio train" in ran.out


def test_doctor_says_how_a_system_whose_backends_are_down_comes_up(place: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("revelio.service.active_model.load_recommender", lambda folder, catalog: made.StandIn(catalog))
    ran = place("doctor", "--json")
    assert ran.code == 1, ran.err
    found = {f["what"]: f for f in ran.json["findings"]}
    assert found["model"]["state"] == "good"
    assert found["shop: prometheus"]["state"] == "broken"
    assert "testbed up" in found["shop: prometheus"]["remedy"]
    seen = ran.json["systems"]["shop"]
    assert seen["signals"]["found"] == 0 and seen["signals"]["of"] > 100
    assert seen["templates"]["usable"] == 0
    assert any("does not answer" in reason or "is not connected" in reason for reason in seen["templates"]["why_not"])


def test_demo_listens_anywhere_and_takes_no_system_of_the_settings(place: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        seen.append(server.config.app)
        sockets[0].close()

    monkeypatch.setattr("uvicorn.Server.run", run)
    ran = place("demo", "--host", "0.0.0.0", "--port", _free_port())
    assert ran.code == 0, ran.err
    settings = seen[0].state.service.settings
    assert (settings.systems, seen[0].state.demo) == ({}, True)
    assert not Path(settings.database.removeprefix("sqlite:///")).exists()
