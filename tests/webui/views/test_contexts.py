"""Each page gets exactly its context and whether it is a demo, nothing more."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.webui import made
from tests.webui.pages.test_pages import asked, queries, unrun
from webui.pages.answer import PART
from webui.views.answer_contexts import AnswerPage, CardPart, Reason
from webui.views.api_docs import ApiPage
from webui.views.contexts import (
    AskPage,
    CatalogPage,
    Choice,
    ErrorPage,
    Example,
    HistoryFilters,
    HistoryPage,
    ModelPage,
    SettingsPage,
    SystemPage,
    SystemsPage,
)


def context(reply: Any) -> Any:
    assert set(reply.context) == {"page", "demo", "request"}
    return reply.context["page"]


def test_ask(client: TestClient) -> None:
    page = context(client.get("/"))
    assert [(s.value, s.usable) for s in page.systems] == [("system:shop", False)]
    assert page == AskPage(
        report="",
        chosen="system:shop",
        systems=page.systems,
        recorded=(
            Choice("incident:shop-0001", "shop · the basket page hangs for ages, then it says try again"),
            Choice("incident:shop-0002", "shop · orders page is all fine now"),
        ),
        examples=(Example("shop-0001", made.REPORT), Example("shop-0002", "orders page is all fine now")),
        max_chars=20_000,
        masks="secrets, e-mail addresses and card numbers",
    )


def test_answer(client: TestClient) -> None:
    page = context(client.get(unrun(client, "  slow basket ")))
    assert isinstance(page, AnswerPage)
    assert (page.report, page.system, page.recorded) == ("slow basket", "shop", "shop-0001")
    assert (page.window_s, page.baseline_s, page.no_fault_likely, page.degraded) == (30.0, 60.0, False, ())
    assert [c.rank for c in page.cards] == [1, 2, 3, 4, 5]
    card = page.cards[0]
    assert (card.tool, card.targets, card.evidence, card.verdict, card.note, card.failure) == (
        "Prometheus",
        ("cart",),
        None,
        None,
        "",
        "",
    )
    reason = card.reasons[0]
    assert reason.share == pytest.approx(0.62**0.5)
    assert reason == Reason("Data source", "right data source", reason.share, ("3 of 9 questions would show something",))
    assert sum(len(r.facts) for r in card.reasons) == 3


def test_card(client: TestClient) -> None:
    address = asked(client)
    query = queries(client.get(address).text)[0]
    page = context(client.post(f"{address}/run", data={"query_id": query}, headers={PART: "card"}))
    assert isinstance(page, CardPart)
    assert page.card == context(client.get(address)).cards[0]
    assert page.card.evidence is not None
    assert page.card.evidence.significant


def test_history(client: TestClient) -> None:
    address = asked(client, "the latest of all")
    page = context(client.get("/history"))
    assert isinstance(page, HistoryPage)
    newest = page.groups[0].answers[0].entry
    assert f"/r/{newest.id}" == address
    assert newest.report == "the latest of all"
    assert (page.first, page.filters, page.newer, page.older, page.refused) == (1, HistoryFilters(), "", "", "")
    assert page.systems == ("shop",)


def test_systems(client: TestClient) -> None:
    page = context(client.get("/systems"))
    assert isinstance(page, SystemsPage)
    assert [(s.name, s.live, s.recorded) for s in page.systems] == [("shop", True, 2)]


def test_system(client: TestClient) -> None:
    page = context(client.get("/systems/shop"))
    assert isinstance(page, SystemPage)
    assert page.snapshot is not None
    assert page.snapshot.recorded == "shop-0002"
    assert [(b.tool, b.set_up) for b in page.row.backends] == [("prometheus", True), ("tempo", False), ("loki", False)]
    assert page.map is not None and not page.map.calls
    assert [(n.name, n.kinds) for n in page.map.nodes] == [(n, ("container", "service")) for n in ("cart", "orders", "products")]


def test_catalog(client: TestClient) -> None:
    page = context(client.get("/catalog?q=quota"))
    assert isinstance(page, CatalogPage)
    assert [t.id for tool in page.tools for t in tool.templates] == ["prometheus.throttling"]
    assert (page.q, page.tool, page.total, len(page.names)) == ("quota", "", 3, 3)


def test_model(client: TestClient) -> None:
    page = context(client.get("/model"))
    assert isinstance(page, ModelPage)
    assert (page.folder.manifest, page.troubles) == (None, ())
    assert "no model here" in page.folder.trouble


def test_settings(client: TestClient) -> None:
    page = context(client.get("/settings"))
    assert isinstance(page, SettingsPage)
    assert [g.system for g in page.groups] == ["", "shop"]


def test_error(client: TestClient) -> None:
    assert context(client.get("/nope")) == ErrorPage(404, "Not found", "There is nothing at /nope.")


def test_api(client: TestClient) -> None:
    page = context(client.get("/api/docs"))
    assert isinstance(page, ApiPage)
    ask = next(o for o in page.operations if o.id == "recommend")
    assert (ask.method, ask.path) == ("POST", "/api/v1/recommendations")
    assert [f.name for f in ask.body if f.required] == ["report"]
    assert ask.example.startswith("curl http://testserver/api/v1/recommendations -H")
