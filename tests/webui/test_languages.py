"""Whole pages in a language made on the fly: none of the page's own text stays English, numbers and dates follow."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import BaseModel

from revelio.presentation import cause, evidence_panels, time_lines
from revelio.presentation.times import time_words
from revelio.settings import BUNDLED
from revelio.types import fill
from tests.webui import made
from tests.webui.conftest import client_on
from tests.webui.pages.test_pages import asked, queries, unrun
from tests.webui.pseudo import LANGUAGE, pseudo_language
from tests.webui.test_demo import demo_in
from tests.webui.untranslated import CLOSE, OPEN, left_in_english, texts_outside
from webui.pages.answer import PART
from webui.views.api_docs import api_page
from webui.views.model import read_model_folder
from webui.views.settings import active_settings


def strings(value: object) -> Iterator[str]:
    """All texts within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        yield from strings(value.model_dump(mode="json"))
    elif is_dataclass(value):
        yield from (text for field in fields(value) for text in strings(getattr(value, field.name)))
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for one in pair for text in strings(one))
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from (text for one in value for text in strings(one))


def data_of(client: TestClient, address: str = "") -> set[str]:
    """What a page may show as it is: data, the catalog's texts, and what the API and the command line say as well."""
    app: Any = client.app
    service = app.state.service
    folder = read_model_folder(service.settings.model)
    shown: list[object] = [service.catalog, service.recorded(), service.health.known(service.systems), folder.trouble]
    if address == "/api/docs":
        shown += [app.openapi(), api_page(app.openapi(), str(client.base_url))]
    elif address == "/settings":
        shown += [[one.name, one.value, one.about] for one in active_settings(service.settings)]
    elif address == "/model":
        shown += [folder, texts_outside(folder.card)]
    for entry in service.store.history(100):
        saved = service.answer(entry.id)
        answer = saved.recommendation
        reranked = service.rerank(answer, saved.given)
        said = [cause(one) for one in (answer, reranked.recommendation)]
        shown += [saved, time_lines(answer), time_words(answer), reranked, said, [one.text() for one in said]]
        shown += [[q.query.id, q.query.title, fill(q.query.template.shows, q.query.bindings)] for q in answer.queries]
        shown += [evidence_panels(q.result, answer.incident.evidence) for q in answer.queries if q.result]
    whole = {" ".join(text.split()) for one in shown for text in strings(one)}
    # Placeholders and code are elements of their own within a text.
    texts = {part.strip(" .,;:") for text in whole for part in (text, *re.split(r"`[^`]*`|\$\{\w+\}", text))}
    return texts | {text.replace("_", " ") for text in texts}


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server whose reader prefers the made language."""
    one, other = made.record(), made.record("shop-0002", "orders page is all fine now", ("elasticsearch",))
    settings = made.settings(tmp_path_factory.mktemp("server"), one, other)
    with pseudo_language(tmp_path_factory.mktemp("translations")), client_on(settings) as client:
        client.headers["accept-language"] = f"{LANGUAGE}-AT, en;q=0.5"
        yield client


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/?incident=shop-0001",
        "/?incident=nope",
        "/history",
        "/history?q=matches+nothing",
        "/history?since=soon",
        "/history?verdict=no",
        "/history?page=9",
        "/systems",
        "/systems/shop",
        "/systems/nope",
        "/catalog",
        "/catalog?q=matchesnothing",
        "/model",
        "/settings",
        "/api/docs",
        "/nope",
    ],
)
def test_nothing_of_a_page_stays_english(german: TestClient, address: str) -> None:
    asked(german, "one that history shows")
    page = german.get(address)
    assert f'<html lang="{LANGUAGE}">' in page.text
    assert left_in_english(page.text, data_of(german, address) | {address.partition("?")[0], "nope", "soon"}) == set()


def test_nothing_of_an_answer_stays_english(german: TestClient) -> None:
    address = asked(german)
    query = queries(german.get(address).text)[0]
    german.post(f"{address}/feedback", data={"query_id": query, "verdict": "found", "note": "the quota"})
    lost = queries(german.get(address).text)[-1]
    failed = german.post(f"{address}/run", data={"query_id": lost}).text
    reason = german.post(f"/api/v1/recommendations/{address.removeprefix('/r/')}/queries/{lost}/run").json()["detail"]
    part = german.post(f"{address}/run", data={"query_id": query}, headers={PART: "card"}).text
    open_pages = [german.get(address).text, german.get(f"{address}?order=original").text, failed, part]
    german.post(f"{address}/resolve", data={"cause": "the quota", "query_id": query})
    pages = [*open_pages, german.get(address).text, german.get("/history?q=basket").text]
    pages += [german.get(unrun(german)).text, german.get(asked(german, "it is all fine", "incident:shop-0002")).text]
    pages += [german.get(asked(german, "mail robin at a@example.org", "system:shop")).text]
    data = data_of(german) | {"the quota", reason}
    assert {text for page in pages for text in left_in_english(page, data)} == set()


@pytest.mark.parametrize(
    ("address", "form"),
    [
        ("/r", {"report": "slow", "about": ""}),
        ("/r", {"report": "slow", "about": "incident:shop-0001", "window": "10m"}),
        ("/r", {"report": "slow", "about": "system:shop", "behind": "x"}),
        ("/systems/shop/look", {}),
    ],
)
def test_nothing_of_a_refusal_by_the_page_stays_english(german: TestClient, address: str, form: dict[str, str]) -> None:
    page = german.post(address, data=form)
    assert left_in_english(page.text, data_of(german) | {"slow", "x"}) == set()


def test_texts_of_scripts_come_translated_with_the_page(german: TestClient) -> None:
    held = re.search(r"data-strings='([^']*)'", german.get("/").text)
    assert held
    texts = json.loads(unescape(held[1]))
    assert len(texts) > 10
    assert all(text.startswith(OPEN) and text.endswith(CLOSE) for text in texts.values())


def test_a_post_mortem_is_in_the_language_of_its_reader(german: TestClient) -> None:
    draft = german.get(f"{asked(german)}/post-mortem.md").text
    heads = [line for line in draft.splitlines() if line.startswith(("# ", "## "))]
    assert heads and all(OPEN in head for head in heads)


def test_figures_and_dates_follow_the_language(german: TestClient) -> None:
    page = unescape(german.get(asked(german)).text)
    assert "62\xa0%" in page
    assert "62 %" not in page
    assert "21.09.2026, 14:14 UTC" in page


def test_programs_are_answered_in_english(german: TestClient) -> None:
    reply = german.get("/api/v1/recommendations/nope")
    assert (reply.status_code, reply.json()["title"]) == (404, "Not found")
    assert OPEN not in german.get("/api/v1/systems").text


def test_the_reader_of_each_request_is_alone(german: TestClient) -> None:
    english = {"accept-language": "en"}
    assert OPEN not in german.get("/", headers=english).text
    assert OPEN in german.get("/").text
    assert OPEN not in german.get("/", headers={"accept-language": "fr"}).text


def test_nothing_of_the_model_page_stays_english(tmp_path: Path) -> None:
    evaluation = {
        "model": "revelio-0",
        "dataset": "abc",
        "splits": {"new_app": {"incidents": 3, "top1": 0.5, "ci95": {"top1": [0.1, 1]}}},
    }
    folder = tmp_path / "bundled"
    shutil.copytree(BUNDLED / "model", folder)
    (folder / "evaluation.json").write_text(json.dumps(evaluation), encoding="utf-8")
    settings = made.settings(tmp_path, made.record()).model_copy(update={"model": folder})
    with pseudo_language(tmp_path / "translations"), client_on(settings) as client:
        page = client.get("/model", headers={"accept-language": LANGUAGE}).text
        assert left_in_english(page, data_of(client, "/model")) == set()
    assert "0,500" in page


def test_nothing_of_the_demo_stays_english(tmp_path: Path) -> None:
    with pseudo_language(tmp_path / "translations"), demo_in(tmp_path) as client:
        client.headers["accept-language"] = LANGUAGE
        page = client.get("/").text
        assert f"{OPEN}<b>Demo</b>" in page
        assert left_in_english(page + client.get("/history").text, data_of(client)) == set()
