"""The pages work as plain forms, keep what was typed, and show text as text."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from revelio.errors import ArtifactError
from tests.webui import made
from tests.webui.conftest import client_on
from webui.pages.answer import PART
from webui.views.templating import STATIC

CART = {"report": made.REPORT, "about": "incident:shop-0001"}


def asked(client: TestClient, report: str = made.REPORT, about: str = "incident:shop-0001") -> str:
    reply = client.post("/r", data={"report": report, "about": about})
    assert reply.status_code == 303, reply.text
    return reply.headers["location"]


def unrun(client: TestClient, report: str = made.REPORT, incident: str = "shop-0001") -> str:
    """The address of an answer of which no query was run yet."""
    return f"/r/{client.post('/api/v1/recommendations', json={'report': report, 'incident': incident}).json()['id']}"


def queries(page: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r'name="query_id" value="([^"]+)"', page)))


def test_asking_leads_to_an_address_that_can_be_shared(client: TestClient) -> None:
    address = asked(client)
    assert re.fullmatch(r"/r/[0-9a-f]{16}", address)
    page = client.get(address).text
    assert made.REPORT in page
    assert "62 %" in page
    assert "CPU throttling of cart" in page
    assert "How much of its time cart waits" in page
    assert "a fourth fact" not in page


def test_a_run_without_scripts_shows_evidence_in_its_card(client: TestClient) -> None:
    address = asked(client)
    for query in queries(client.get(address).text)[:3]:
        reply = client.post(f"{address}/run", data={"query_id": query})
        assert reply.status_code == 303
        assert reply.headers["location"] == f"{address}?query={query}#query-{query}"
    page = unescape(client.get(address).text)
    assert "cart was throttled 0.78 s in every second" in page
    assert "Before" in page
    assert "upstream timed out after 3.0 s" in page
    assert "failed</span>" in page
    assert "Truncated at the query" in page


def test_a_script_gets_the_card_alone(client: TestClient) -> None:
    address = asked(client)
    query = queries(client.get(address).text)[0]
    reply = client.post(f"{address}/run", data={"query_id": query}, headers={PART: "card"})
    assert reply.status_code == 200
    assert reply.text.strip().startswith("<article")
    assert "data-chart=" in reply.text


def test_a_run_that_fails_says_so_in_its_card(client: TestClient) -> None:
    address = asked(client)
    query = queries(client.get(address).text)[-1]
    for headers in ({}, {PART: "card"}):
        reply = client.post(f"{address}/run", data={"query_id": query}, headers=headers)
        assert reply.status_code == 200
        assert "Not run." in reply.text


def test_a_run_asked_for_at_once_that_failed_is_not_shown_as_normal(client: TestClient) -> None:
    body = {"report": made.REPORT, "incident": "shop-0001", "k": 5, "run": True}
    identity = client.post("/api/v1/recommendations", json=body).json()["id"]
    page = client.get(f"/r/{identity}").text
    assert page.count("Not run.") == 2
    assert page.count('aria-label="Evidence"') == 3


def test_what_is_not_there_cannot_be_run_or_judged(client: TestClient) -> None:
    for address in (asked(client), "/r/nope"):
        for action, fields in (("run", {}), ("feedback", {"verdict": "found"})):
            reply = client.post(f"{address}/{action}", data={"query_id": "nope", **fields})
            assert reply.status_code == 404
            assert "nope" in reply.text


def test_feedback_shows_as_pressed(client: TestClient) -> None:
    address = asked(client)
    query = queries(client.get(address).text)[0]
    assert 'value="found" aria-pressed="false"' in client.get(address).text
    assert client.post(f"{address}/feedback", data={"query_id": query, "verdict": "found"}).status_code == 303
    assert 'value="found" aria-pressed="true"' in client.get(address).text
    reply = client.post(f"{address}/feedback", data={"query_id": query, "verdict": "not_useful"}, headers={PART: "card"})
    assert 'value="not_useful" aria-pressed="true"' in reply.text
    assert 'value="found" aria-pressed="false"' in reply.text


def test_a_note_stays_with_its_verdict(client: TestClient) -> None:
    address = asked(client)
    fields = {"query_id": queries(client.get(address).text)[0], "verdict": "found"}
    assert 'name="note"' not in client.get(address).text
    client.post(f"{address}/feedback", data={**fields, "note": ' the "quota" <b> '})
    assert 'value="the &#34;quota&#34; &lt;b&gt;"' in client.get(address).text
    for bad in ("x" * 4001, "a\x00b"):
        assert client.post(f"{address}/feedback", data={**fields, "note": bad}).status_code == 422


def test_an_unknown_verdict_is_refused(client: TestClient) -> None:
    address = asked(client)
    reply = client.post(f"{address}/feedback", data={"query_id": queries(client.get(address).text)[0], "verdict": "<b>"})
    assert reply.status_code == 422
    assert "not_useful" in reply.text


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"report": " ", "about": "incident:shop-0001"}, 422, "empty"),
        ({"report": "keep me", "about": "incident:nope"}, 404, "shop-0001"),
        ({"report": "keep me", "about": "system:nope"}, 404, "shop"),
        ({"report": "keep me", "about": ""}, 422, "Choose a system"),
        ({"report": "keep me" + "x" * 20_000, "about": "incident:shop-0001"}, 422, "20,000"),
    ],
)
def test_a_refused_question_keeps_what_was_typed(client: TestClient, fields: dict[str, str], status: int, words: str) -> None:
    reply = client.post("/r", data=fields)
    assert reply.status_code == status
    page = unescape(reply.text)
    assert words in page
    assert fields["report"].strip() in page


def test_a_report_that_is_not_utf8_is_refused(client: TestClient) -> None:
    headers = {"content-type": "application/x-www-form-urlencoded"}
    for content in (b"report=%ff%fe&about=incident:shop-0001", b"report=\xff&about=incident:shop-0001"):
        reply = client.post("/r", content=content, headers=headers)
        assert reply.status_code == 422
        assert "UTF-8" in reply.text


def test_a_form_of_another_kind_is_refused(client: TestClient) -> None:
    assert client.post("/r", files={"report": b"x"}).status_code == 422


def test_a_huge_form_is_refused_with_a_page(client: TestClient) -> None:
    reply = client.post("/r", data={"report": "x" * 1_000_000, "about": "incident:shop-0001"})
    assert reply.status_code == 413
    assert "<h1>Too large</h1>" in reply.text


def test_markup_in_a_report_is_shown_as_text(client: TestClient) -> None:
    hostile = "</textarea><script>alert(1)</script><img src=x onerror=alert(2)> \" ' {{ 7*777 }}"
    address = asked(client, hostile)
    identity = address.rpartition("/")[2]
    for page in (client.get(address).text, client.get("/history").text, client.get(f"/?again={identity}").text):
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "5439" not in page


def test_markup_in_telemetry_is_shown_as_text(client: TestClient) -> None:
    address = asked(client)
    errors = queries(client.get(address).text)[2]
    client.post(f"{address}/run", data={"query_id": errors})
    page = client.get(address).text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_an_abstaining_and_degraded_answer_says_so_first(client: TestClient) -> None:
    page = client.get(asked(client, "it is all fine", "incident:shop-0002")).text
    assert "Nothing points at a fault" in page
    assert "elasticsearch did not answer." in page
    assert page.index("Nothing points at a fault") < page.index('id="cards"')


def test_a_live_system_with_no_backend_up_gives_a_page(client: TestClient) -> None:
    page = client.get(asked(client, "checkout is slow", "system:shop")).text
    assert "did not answer." in page
    assert "Too little data to tell" in page
    assert "Check data sources" in page


def test_the_question_can_be_filled_from_a_recording_or_an_answer(client: TestClient) -> None:
    page = client.get("/?incident=shop-0001").text
    assert f"\n{made.REPORT}</textarea>" in page
    assert '<option value="incident:shop-0001" selected>' in page
    identity = asked(client, "in other words").rpartition("/")[2]
    page = client.get(f"/?again={identity}").text
    assert "\nin other words</textarea>" in page
    assert '<option value="incident:shop-0001" selected>' in page
    assert client.get("/?incident=nope").status_code == 404


def test_what_does_not_exist_is_a_friendly_page(client: TestClient) -> None:
    for path in ("/nope", "/r/nope", "/static/nope.css"):
        reply = client.get(path)
        assert reply.status_code == 404
        assert "<h1>Not found</h1>" in reply.text
    assert client.get("/r").headers["location"] == "/"


def test_history_pages_to_and_fro(client: TestClient) -> None:
    for _ in range(26):
        asked(client, "a report to page through")
    page = client.get("/history?q=through").text
    assert page.count('<a href="/r/') == 25
    assert "26 answers, 1 to 25" in page
    older = re.search(r'href="(/history\?[^"]*)" rel="next"', page)
    assert older is not None
    last = client.get(unescape(older[1])).text
    assert last.count('<a href="/r/') == 1
    assert 'href="/history?q=through" rel="prev"' in last
    assert "The list ends before this page" not in last


def test_history_finds_a_note_and_shows_it(client: TestClient) -> None:
    address = asked(client, "an odd thing")
    query = queries(client.get(address).text)[0]
    client.post(f"{address}/feedback", data={"query_id": query, "verdict": "found", "note": "the flux <b>capacitor</b>"})
    page = client.get("/history?q=capacitor&verdict=found&system=shop").text
    assert "an odd thing" in page
    assert "flux &lt;b&gt;capacitor" in page
    assert "No matches" in client.get("/history?q=capacitor&verdict=none").text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("since=soon", "'soon' is no day"),
        ("since=2026-02-30", "there is no day"),
        ("since=2026-03-02&until=2026-03-01", "exchange them"),
        ("verdict=perhaps", "'perhaps' is no verdict"),
        ("page=0", "no page"),
        ("page=-1", "no page"),
        ("page=99999999999999999999", "no page"),
    ],
)
def test_a_filter_that_cannot_be_used_is_named_and_kept(client: TestClient, query: str, words: str) -> None:
    reply = client.get(f"/history?{query}")
    assert reply.status_code == 422
    page = unescape(reply.text)
    assert words in page
    if "since=soon" in query:
        assert 'value="soon"' in page


def test_filters_show_what_was_typed_as_text(client: TestClient) -> None:
    for path in ("/history?q=", "/catalog?q="):
        page = client.get(f"{path}%22%3E%3Cscript%3Ealert(1)%3C/script%3E%00").text
        assert "<script>alert" not in page
        assert "No matches" in page


def test_the_first_three_are_run_and_the_model_ranks_anew_by_what_came_back(client: TestClient) -> None:
    address = asked(client)
    reply = client.post(f"{address}/run-first", data={})
    assert (reply.status_code, reply.headers["location"]) == (303, f"{address}#cards")
    page = unescape(client.get(address).text)
    assert "Re-ranked with 3 results." in page
    assert "from 1, the stand-in says" in page
    assert page.count('aria-label="Evidence"') == 3
    plain = client.get(f"{address}?order=original").text
    assert "the stand-in says" not in plain
    assert f'href="{address}?order=original" aria-current="true"' in plain


def test_a_query_that_results_bring_up_joins_the_answer_once_it_is_run_or_judged(client: TestClient) -> None:
    ask = {"report": made.REPORT, "incident": "shop-0001"}
    more = client.post("/api/v1/recommendations", json=ask | {"k": 7}).json()["queries"][5:]
    address = unrun(client)
    form = {"query_id": more[0]["id"], "verdict": "found"}
    assert client.post(f"{address}/feedback", data=form).headers["location"].endswith(f"#query-{more[0]['id']}")
    client.post(f"{address}/run", data={"query_id": more[1]["id"]})
    page = client.get(f"{address}?order=original").text
    assert page.count('class="moved">Added by re-ranking') == 2
    assert queries(page)[5:] == [q["id"] for q in more]
    answer = client.get(f"/api/v1/recommendations/{address.removeprefix('/r/')}").json()
    assert [q["rank"] for q in answer["queries"]] == [1, 2, 3, 4, 5, 6, 7]
    assert client.post(f"{address}/run", data={"query_id": "none.such-00000000"}).status_code == 404


def test_the_next_three_are_run_in_the_order_of_what_came_back(client: TestClient) -> None:
    address = unrun(client)
    assert "Run next" not in client.get(address).text
    client.post(f"{address}/run-first", data={})
    assert "Run next 2" in client.get(address).text
    client.post(f"{address}/run-first", data={})
    assert client.get(address).text.count("Not run.") == 2, "those after the first three have no recorded result"


def test_an_answer_that_cannot_be_ranked_anew_is_shown_as_it_was_given(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> None:
        raise ArtifactError("the model folder is damaged")

    address = asked(client)
    client.post(f"{address}/run-first", data={})
    monkeypatch.setattr(made.StandIn, "rerank", damaged)
    page = client.get(f"{address}")
    assert page.status_code == 200
    assert "Not re-ranked." in page.text and "The model folder is damaged" in page.text
    assert f'href="{address}?order=original" aria-current="true"' in page.text


def test_a_query_that_cannot_be_run_with_the_first_three_says_why(client: TestClient) -> None:
    address = unrun(client, "it is all fine", "shop-0002")
    for runs in (0, 2):
        client.post(f"{address}/run-first", data={})
        assert client.get(address).text.count("Not run.") == runs
    assert client.post("/r/nope/run-first", data={}).status_code == 404


def test_a_run_in_the_order_of_what_came_back_stays_in_it(client: TestClient) -> None:
    address = unrun(client)
    query = queries(client.get(address).text)[1]
    reply = client.post(f"{address}/run", data={"query_id": query, "order": "original"})
    assert reply.headers["location"] == f"{address}?order=original&query={query}#query-{query}"
    reply = client.post(
        f"{address}/feedback", data={"query_id": query, "verdict": "found", "order": "original"}, headers={PART: "card"}
    )
    assert "the stand-in says" not in reply.text
    assert 'name="order" value="original"' in reply.text


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"about": "system:shop", "at": "2026-11-21T10:00", "behind": "-120"}, 303, ""),
        ({"about": "system:shop", "at": "lunch"}, 422, "is no time"),
        ({"about": "system:shop", "at": "2999-01-01T00:00"}, 422, "has not come yet"),
        ({"about": "system:shop", "at": "2026-01-01T00:00", "behind": "5000"}, 422, "No time zone"),
        ({"about": "incident:shop-0001", "at": "2026-01-01T00:00"}, 422, "has its own time"),
    ],
)
def test_a_moment_can_be_named(client: TestClient, fields: dict[str, str], status: int, words: str) -> None:
    reply = client.post("/r", data={"report": "slow since then", **fields})
    assert reply.status_code == status
    page = unescape(reply.text)
    assert words in page
    if status == 303:
        assert "21 Nov 2026, 08:00 UTC" in client.get(reply.headers["location"]).text
    else:
        assert f'value="{fields["at"]}"' in page


def test_pasted_rich_text_is_kept_as_plain_text(client: TestClient) -> None:
    page = client.get(asked(client, "Hi,\r\n\r\n\r\n\r\nit\u00a0is\u200b slow")).text
    assert "Hi,\n\nit is slow</blockquote>" in page


def test_systems_say_what_answers_and_what_they_consist_of(client: TestClient) -> None:
    assert "/systems/shop" in client.get("/systems").text
    page = unescape(client.post("/systems/shop/look").text)
    assert "prometheus did not answer just now." in page
    assert "not configured" in page
    assert '<span class="who">products</span>' in page
    assert client.get("/systems/nope").status_code == 404


def test_settings_hide_secrets(client: TestClient) -> None:
    page = client.get("/settings").text
    assert "REVELIO" in page or "default" in page
    assert "systems.shop.backends.prometheus.url" in page


def test_a_damaged_model_is_named_on_every_page_that_needs_it(broken: TestClient) -> None:
    assert "damaged" in broken.get("/").text
    assert "No usable model." in broken.get("/model").text
    assert broken.get("/catalog").status_code == 200


def test_no_page_reaches_outside_or_needs_inline_code(client: TestClient) -> None:
    address = asked(client)
    for query in queries(client.get(address).text)[:3]:
        client.post(f"{address}/run", data={"query_id": query})
    for path in ("/", address, "/history", "/systems", "/systems/shop", "/catalog", "/model", "/settings", "/api/docs", "/nope"):
        page = client.get(path).text
        assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=\"(?!/static/)", page), path
        assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son[a-z]+=\"", page), path


def test_static_files_name_no_other_host() -> None:
    for path in STATIC.rglob("*.[cj]s*"):
        found = re.findall(r"https?://[^\s\"')]+", path.read_text(encoding="utf-8"))
        assert [f for f in found if "github.com/leeoniya" not in f and not f.startswith("http://www.w3.org/")] == [], path


def test_an_answer_with_a_chart_weighs_less_than_150_kb(client: TestClient) -> None:
    address = asked(client)
    query = queries(client.get(address).text)[0]
    client.post(f"{address}/run", data={"query_id": query})
    files = ("revelio.css", "revelio.js", "chart.js", "mark.svg", "vendor/uplot/uPlot.iife.min.js", "vendor/uplot/uPlot.min.css")
    weight = len(client.get(address).content) + sum((STATIC / f).stat().st_size for f in files)
    assert weight < 150_000


def test_history_calls_an_answer_healthy_only_where_the_answer_does(client: TestClient) -> None:
    blind = asked(client, "nothing could be seen of this one", "system:shop")
    healthy = asked(client, "this one is all fine", "incident:shop-0002")
    assert "Nothing points at a fault" not in client.get(blind).text
    assert "too little data to tell" in client.get("/history?q=nothing+could+be+seen").text
    assert "probably no fault" not in client.get("/history?q=nothing+could+be+seen").text
    assert "Nothing points at a fault" in client.get(healthy).text
    assert "probably no fault" in client.get("/history?q=this+one+is+all+fine").text
    outcomes = {h["report"]: h["outcome"] for h in client.get("/api/v1/recommendations").json()}
    assert outcomes["nothing could be seen of this one"] == "no_evidence"
    assert outcomes["this one is all fine"] == "no_fault"


def test_percentages_of_a_probably_healthy_system_say_what_they_are_conditional_on(client: TestClient) -> None:
    assert "if there is a fault" in client.get(asked(client, "it is all fine", "incident:shop-0002")).text


def test_a_live_system_is_preselected_and_never_a_recorded_incident(client: TestClient) -> None:
    page = client.get("/").text
    assert '<option value="system:shop" selected>' in page
    assert page.count(" selected>") == 1


def test_without_a_live_system_the_reader_chooses(tmp_path: Path) -> None:
    with client_on(made.settings(tmp_path, made.record()).model_copy(update={"systems": {}})) as client:
        page = client.get("/").text
    assert '<option value="" selected>Choose one</option>' in page
    assert page.count(" selected>") == 1


def test_there_is_nothing_to_run_when_every_query_has_a_result(client: TestClient) -> None:
    body = {"report": made.REPORT, "incident": "shop-0001", "k": 3, "run": True}
    address = f"/r/{client.post('/api/v1/recommendations', json=body).json()['id']}"
    page = client.get(address).text
    assert "Every query has a result." in page
    assert "/run-first" not in page


def test_a_verdict_can_be_taken_back(client: TestClient) -> None:
    address = asked(client)
    query = queries(client.get(address).text)[0]
    form = {"query_id": query, "verdict": "found", "note": "a quota"}
    client.post(f"{address}/feedback", data=form)
    assert client.post(f"{address}/feedback", data=form | {"verdict": "withdrawn"}).status_code == 303
    page = client.get(address).text
    assert 'aria-pressed="true"' not in page
    assert "a quota" not in page
    assert client.get(f"/api/v1/recommendations/{address.removeprefix('/r/')}/feedback").json() == []


def test_the_reload_of_an_address_that_a_form_was_sent_to_shows_the_answer(client: TestClient) -> None:
    address = asked(client)
    for action in ("run", "run-first", "feedback"):
        reply = client.get(f"{address}/{action}?order=original")
        assert (reply.status_code, reply.headers["location"]) == (303, f"{address}?order=original")


def test_a_recording_offers_no_link_to_a_tool_that_does_not_answer(client: TestClient) -> None:
    assert "Open in Prometheus" not in client.get(asked(client)).text


def test_text_from_people_is_set_in_its_own_direction(client: TestClient) -> None:
    assert '<blockquote dir="auto">' in client.get(asked(client, "الدفع بطيء")).text


def test_a_component_is_listed_once_whatever_it_is_called(client: TestClient) -> None:
    page = client.get("/systems/shop").text
    listed = page[page.index('class="node-parts"') :]
    assert listed.count('<span class="who">cart</span>') == 1
    assert "Seen as container, service." in listed


def test_a_recorded_incident_shows_evidence_at_once(client: TestClient) -> None:
    assert client.get(asked(client)).text.count('aria-label="Evidence"') == 3


def test_an_answer_that_was_not_run_tells_the_script_what_to_run(client: TestClient) -> None:
    address = unrun(client)
    page = client.get(address).text
    assert f'data-run-now="{" ".join(queries(page)[:3])}"' in page
    client.post(f"{address}/run-first", data={})
    assert "data-run-now" not in client.get(address).text


def test_the_revision_changes_with_every_run_verdict_and_resolution(client: TestClient) -> None:
    address = unrun(client)
    query = queries(client.get(address).text)[0]
    seen = [client.get(f"{address}/revision").text]
    for path, form in (
        ("run", {"query_id": query}),
        ("feedback", {"query_id": query, "verdict": "found"}),
        ("feedback", {"query_id": query, "verdict": "withdrawn"}),
        ("resolve", {"cause": "a quota"}),
        ("resolve", {"reopen": "1"}),
    ):
        client.post(f"{address}/{path}", data=form)
        seen.append(client.get(f"{address}/revision").text)
        assert seen[-1] != seen[-2], path
    assert client.get(f"{address}/revision").text == seen[-1]


def test_an_incident_is_resolved_with_its_cause_found_again_and_drafted(client: TestClient) -> None:
    address = asked(client, "the checkout basket hangs again and again")
    query = queries(client.get(address).text)[0]
    form = {"cause": "a quota <b> was cut", "query_id": query}
    assert client.post(f"{address}/resolve", data=form).headers["location"] == f"{address}#after"
    page = client.get(address).text
    assert "Resolved" in page and "a quota &lt;b&gt; was cut" in page
    assert 'value="found" aria-pressed="true"' in page
    later = client.get(asked(client, "the checkout basket hangs once more")).text
    assert "Similar incidents" in later and "a quota &lt;b&gt; was cut" in later
    draft = client.get(f"{address}/post-mortem.md")
    assert draft.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "a quota \\<b> was cut" in draft.text and "> the checkout basket hangs again" in draft.text
    assert "(showed the cause)" in draft.text
    client.post(f"{address}/resolve", data={"reopen": "1"})
    assert "Open again" not in client.get(address).text
    assert client.post("/r/nope/resolve", data={"cause": "x"}).status_code == 404
