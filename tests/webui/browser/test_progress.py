"""Waiting for a live system: what each data source does, and a way back with the draft."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from revelio.settings import Backend, SystemSettings
from tests.webui import made
from tests.webui.browser.conftest import serving
from tests.webui.browser.pages import looks_right, watched
from webui.app import create_app


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[str]:
    """A server with a system whose Prometheus takes connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        backends = {"prometheus": Backend(url=f"http://127.0.0.1:{listening.getsockname()[1]}")}
        settings = made.settings(tmp_path, made.record())
        settings = settings.model_copy(update={"systems": {"shop": SystemSettings(backends=backends)}, "timeout_s": 10.0})
        with serving(create_app(settings, recommender=made.stand_in(settings))) as address:
            yield address


def test_a_question_is_followed_and_cancelled_with_its_draft_kept(context: BrowserContext, slow: str) -> None:
    page, wrong = watched(context, slow)
    page.goto(f"{slow}/?system=shop")
    page.get_by_label("Report").fill("the shop is slow")
    page.get_by_role("button", name="Find queries").click()
    expect(page.get_by_role("heading", name="Asking the data sources of shop")).to_be_focused()
    expect(page.locator(".asking .is-asking")).to_contain_text("Prometheus asking")
    expect(page.get_by_role("status")).to_have_text("0 of 1 done")
    looks_right(page, "asking", axe=True)
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_label("Report")).to_be_focused()
    expect(page.get_by_label("Report")).to_have_value("the shop is slow")
    assert wrong == []


def test_an_answer_about_a_live_system_opens_when_all_sources_are_done(context: BrowserContext, address: str) -> None:
    page, wrong = watched(context, address)
    page.goto(f"{address}/?system=shop")
    page.get_by_label("Report").fill("the shop is slow")
    page.get_by_role("button", name="Find queries").click()
    page.wait_for_url("**/r/*")
    expect(page.locator("#verdict")).to_contain_text("Too little data to tell")
    assert wrong == []
