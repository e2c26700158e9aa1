"""A crowd looks at pages that anybody may see, is bounded and leaves; a storm is a setting, and shows in the calls made."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from fault_injection.apps import App, app_named
from fault_injection.kinds import kind_named
from fault_injection.kinds import load as kinds_module
from fault_injection.kinds.load import FLOODED, RetryStorm
from fault_injection.mechanisms.load import PAGES, crowd, dated, pages_of
from fault_injection.spec import Fault
from revelio.errors import FaultError
from testbed.stack import applications
from tests.fault_injection.traces import telling_words
from tests.fault_injection.world import World


@pytest.fixture
def app(tmp_path: Path) -> App:
    return app_named("shop", tmp_path / "state")


@pytest.fixture
def world(app: App, tmp_path: Path) -> World:
    return World(app, tmp_path)


@pytest.mark.parametrize("app_name", applications())
def test_every_page_is_one_that_the_application_serves_to_anybody(app_name: str) -> None:
    web = Path("testbed/apps") / app_name
    text = "\n".join(path.read_text() for path in (*web.glob("gateway.py"), *web.glob("web/*.py")))
    for page in (*PAGES[app_name], *(page for pages in FLOODED[app_name].values() for page in pages)):
        first = page.split("?")[0].split("/")[1]
        assert f'Route("/{first}' in text, page


def test_a_page_for_a_day_is_asked_for_tomorrow() -> None:
    (page,) = dated(["/trips?date={day}"])
    assert page[len("/trips?date=") :] > time.strftime("%Y-%m-%d", time.gmtime())
    assert not any("{" in page for app_name in applications() for page in pages_of(app_name))


def test_a_crowd_comes_at_once_looks_at_every_page_and_goes_when_it_is_not_wanted() -> None:
    seen: set[str] = set()
    together: list[int] = [0, 0]
    answered, lock = 0, threading.Lock()

    def page(request: Request) -> Response:
        nonlocal answered
        with lock:
            together[0] += 1
            together[1] = max(together)
        seen.add(request.full_path.rstrip("?"))
        assert telling_words(str(request.headers)) == set()
        time.sleep(0.05)
        with lock:
            together[0] -= 1
            answered += 1
        return Response("fine")

    with HTTPServer(threaded=True) as server:
        server.expect_request("/").respond_with_handler(page)
        server.expect_request("/search").respond_with_handler(page)
        made = crowd(server.url_for("").rstrip("/"), ["/", "/search?q=wool"], 6, 60.0, lambda: answered < 30)
    assert made >= 12
    assert seen == {"/", "/search?q=wool"}
    assert 1 < together[1] <= 6


def test_a_crowd_before_a_closed_door_does_not_spin() -> None:
    began = time.monotonic()
    assert crowd("http://127.0.0.1:9", ["/"], 4, 0.6, lambda: True) == 0
    assert 0.5 < time.monotonic() - began < 2.0


def test_a_flood_is_measured_by_requests_a_second(app: App, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, fault = kind_named("traffic_flood"), Fault("traffic_flood", "search", "hard")
    monkeypatch.setattr(kinds_module, "SAMPLE_S", 0.05)
    for per_look, active in ((100.0, True), (0.1, False)):
        counted = iter([50.0, 50.0 + per_look, 150.0, 150.0 + per_look])
        monkeypatch.setattr(kinds_module, "requests_served", lambda *_, counted=counted: next(counted))
        assert kind.active(app, fault, world).confirmed == active
        assert kind.cleared(app, fault, world).confirmed == (not active)


def test_where_a_service_is_too_busy_to_show_its_figures_those_who_wait_are_counted(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> float:
        raise FaultError("search does not show its metrics")

    monkeypatch.setattr(kinds_module, "requests_served", refused)
    fault = Fault("traffic_flood", "search", "hard")
    for waiting, active in ((90, False), (600, True)):
        lines = "ESTAB 0 0 10.0.0.2:8000 10.0.0.1:40000\n" * waiting
        world.in_network = lambda service, *command, lines=lines: lines  # type: ignore[method-assign]
        assert kind_named("traffic_flood").active(app, fault, world).confirmed == active
        assert not kind_named("traffic_flood").cleared(app, fault, world).confirmed


def calls(made: int, good: int) -> str:
    name = "http_client_request_duration_seconds_count"
    return (
        f'{name}{{error_type="",http_response_status_code="200",server_address="cart"}} {good}.0\n'
        f'{name}{{error_type="timeout",http_response_status_code="",server_address="cart"}} {made - good}.0\n'
    )


@pytest.mark.parametrize(("made", "good", "active"), [(200, 20, True), (200, 190, False), (4, 0, False)])
def test_a_storm_bites_where_most_of_many_calls_are_repeated(
    app: App, world: World, monkeypatch: pytest.MonkeyPatch, made: int, good: int, active: bool
) -> None:
    storm, fault = RetryStorm(), Fault("retry_storm", "gateway", "hard")
    monkeypatch.setattr(kinds_module, "SAMPLE_S", 0.01)
    pages = iter([calls(50, 50), calls(50 + made, 50 + good)])
    monkeypatch.setattr(kinds_module, "metrics", lambda *_: next(pages))
    assert not storm.active(app, fault, world).confirmed
    world.environments["gateway"] |= {"PEER_RETRIES": "30", "PEER_TIMEOUT_SECONDS": "0.005"}
    assert storm.active(app, fault, world).confirmed == active


@pytest.mark.parametrize("app_name", applications())
def test_a_storm_starts_at_services_that_call_others(app_name: str) -> None:
    app = app_named(app_name, Path("unused"))
    assert set(RetryStorm().places(app)) <= set(app.callers)
