"""The MCP server, asked by the SDK's own client over both transports."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from fastapi import FastAPI
from mcp import Client, StdioServerParameters

from revelio.service import Service
from revelio.settings import BUNDLED, Settings
from tests.cli.made import CommandLine
from tests.webui import made
from webui.errors import add_handlers
from webui.webhooks.routes import webhooks


@pytest.fixture
def address(settings: Settings, service: Service) -> Iterator[str]:
    """A real server with the route /mcp."""
    app = FastAPI()
    add_handlers(app)
    app.include_router(webhooks(settings, service))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    server.should_exit = True
    thread.join(20)


def talk(to: str | StdioServerParameters, say: Callable[[Client], Awaitable[None]]) -> None:
    """A conversation with a server, of a minute at most."""

    async def conversation() -> None:
        async with asyncio.timeout(60), Client(to) as client:
            await say(client)

    asyncio.run(conversation())


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool gives; fails with its own words."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    found: dict[str, Any] = result.structured_content or {}
    return found


async def whole_story(client: Client) -> None:
    """From a report to feedback, as an assistant would go."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"list_places", "recommend", "run_query", "similar_incidents", "give_feedback"}
    assert all(tool.description and tool.output_schema for tool in tools.values())
    assert (await call(client, "list_places"))["incidents"] == ["shop-0001"]
    answer = await call(client, "recommend", report=made.REPORT, incident="shop-0001", k=3)
    assert len(answer["queries"]) == 3 and answer["queries"][0]["probability"] > answer["queries"][1]["probability"]
    where = {"recommendation_id": answer["recommendation_id"], "query_id": answer["queries"][0]["id"]}
    evidence = await call(client, "run_query", **where)
    assert 0 <= evidence["signal"] <= 1 and evidence["summary"]
    assert await call(client, "give_feedback", **where, verdict="found", note="it was the quota") == {"kept": True}
    again = await call(client, "recommend", report=made.REPORT, incident="shop-0001")
    (past,) = (await call(client, "similar_incidents", recommendation_id=again["recommendation_id"]))["incidents"]
    assert past["recommendation_id"] == answer["recommendation_id"] and past["query"] == answer["queries"][0]["title"]
    assert "it was the quota" in past["cause"]


async def mistakes(client: Client) -> None:
    """Wrong calls are told in words, and break nothing."""
    for tool, arguments, words in (
        ("recommend", {"report": "x", "incident": "nope"}, "nope"),
        ("recommend", {"report": "x", "system": "elsewhere"}, "elsewhere"),
        ("recommend", {"report": ""}, "report"),
        ("recommend", {"report": "x", "k": 0}, "k"),
        ("run_query", {"recommendation_id": "abc", "query_id": "q"}, "abc"),
        ("give_feedback", {"recommendation_id": "abc", "verdict": "splendid"}, "verdict"),
    ):
        result = await client.call_tool(tool, arguments)
        assert result.is_error and words in str(result.content)


def test_over_http_from_report_to_feedback(address: str, service: Service) -> None:
    talk(address, whole_story)
    assert service.answer(service.store.history()[-1].id).feedback[0].verdict == "found"


def test_over_http_mistakes_are_told(address: str) -> None:
    talk(address, mistakes)


def test_over_http_evidence_is_text_to_read(address: str) -> None:
    async def run(client: Client) -> None:
        answer = await call(client, "recommend", report=made.REPORT, incident="shop-0001", k=20)
        shown = {}
        for query in answer["queries"]:
            if "cart" in query["title"]:
                found = await call(client, "run_query", recommendation_id=answer["recommendation_id"], query_id=query["id"])
                shown[query["tool"]] = found
        assert "█" in shown["prometheus"]["text"] and shown["loki"]["rows"][1][3] == 41
        assert "failed here: products GET /products/{id}, 2.6 s" in shown["tempo"]["text"]

    talk(address, run)


def test_http_requests_that_are_no_mcp_are_refused(address: str) -> None:
    assert httpx2.post(address, content=b"{").status_code in (400, 406)
    assert httpx2.put(address).status_code == 405


def test_over_stdio_from_report_to_feedback(tmp_path: Path) -> None:
    """The command itself, with the bundled model and catalog, on a bundled incident."""
    bundled = sorted((BUNDLED / "incidents").glob("*.xz"))[0]
    (tmp_path / "incidents").mkdir()
    (tmp_path / "incidents" / bundled.name).write_bytes(bundled.read_bytes())
    environ = {k: v for k, v in os.environ.items() if not k.startswith("REVELIO_")} | {
        "REVELIO_INCIDENTS": str(tmp_path / "incidents"),
        "REVELIO_DATABASE": f"sqlite:///{tmp_path}/revelio.db",
        "REVELIO_SYSTEMS": '{"shop": {"backends": {"prometheus": {"url": "http://127.0.0.1:9"}}}}',
    }
    command = StdioServerParameters(
        command=str(Path(sys.executable).with_name("revelio")), args=["mcp"], env=environ, cwd=tmp_path
    )

    async def story(client: Client) -> None:
        (incident,) = (await call(client, "list_places"))["incidents"]
        answer = await call(client, "recommend", report="the cart page hangs", incident=incident, k=20)
        where = {"recommendation_id": answer["recommendation_id"], "query_id": answer["queries"][0]["id"]}
        assert await call(client, "give_feedback", **where, verdict="helpful") == {"kept": True}
        live = await call(client, "recommend", report="the cart page hangs", system="shop")
        assert live["degraded"] == ["prometheus"]
        await mistakes(client)

    talk(command, story)


def test_command_prints_how_to_name_it(revelio: CommandLine) -> None:
    named = revelio("mcp", "--json").json
    assert named["mcpServers"]["revelio"] == {"command": "revelio", "args": ["mcp"]}


def test_command_names_the_extra_that_is_missing(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "revelio.integrations.mcp", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    ran = revelio("mcp")
    assert ran.code == 1 and "pip install 'mcp" in ran.err
