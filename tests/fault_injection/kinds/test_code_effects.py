"""What a new version does is told from what it serves: its metrics page, its pages, and what it uses."""

from __future__ import annotations

import itertools
import json
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fault_injection.apps import App, app_named
from fault_injection.engine import CpuUsage, StoredFile
from fault_injection.kinds import code_effects, kind_named
from fault_injection.kinds.code_effects import goes_wrong, grows, queue_grows, repeats_itself, running_version, takes_cpu
from fault_injection.mechanisms.deploy import VERSION
from fault_injection.spec import Fault
from revelio.errors import FaultError
from tests.fault_injection.fake_engine import FakeEngine

METRICS = """app_build_info{version="1.4.3"} 1.0
messaging_queue_depth{queue="order-placed"} 4.0
http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="500"} 3.0
http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="200"} 9.0
"""


class Site:
    """A site with one page, and a service behind it with a metrics page."""

    def __init__(self) -> None:
        self.page: tuple[int, object] = (200, {"products": [1]})
        self.metrics = METRICS
        self.turns = itertools.count()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, text = (
                    (200, site.each_time(next(site.turns)))
                    if self.path == "/metrics"
                    else (site.page[0], json.dumps(site.page[1]))
                )
                self.send_response(status)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def each_time(self, turn: int) -> str:
        """The metrics page at its ``turn``-th look."""
        return self.metrics

    def app(self) -> App:
        port = self.server.server_address[1]
        return replace(app_named("shop", Path("unused")), address=f"http://127.0.0.1:{port}", service_port=port)


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    thread = threading.Thread(target=site.server.serve_forever, args=(0.01,))
    thread.start()
    yield site
    site.server.shutdown()
    thread.join()
    site.server.server_close()


@pytest.fixture
def engine() -> FakeEngine:
    engine = FakeEngine("products", "notifier")
    engine.files["products", VERSION] = StoredFile(b"1.4.3\n", 0o644, 0, 0, 1.0)
    return engine


def test_the_version_that_was_put_in_place_must_be_the_one_that_runs(site: Site, engine: FakeEngine) -> None:
    assert running_version(site.app(), "products", engine).confirmed
    engine.files["products", VERSION] = StoredFile(b"1.4.4\n", 0o644, 0, 0, 1.0)
    effect = running_version(site.app(), "products", engine)
    assert (effect.confirmed, effect.figures) == (False, "version 1.4.3 runs")


def test_a_service_that_does_not_answer_yet_runs_no_version(site: Site, engine: FakeEngine) -> None:
    effect = running_version(replace(site.app(), service_port=1), "products", engine)
    assert not effect.confirmed
    assert "products does not show its metrics" in effect.figures


@pytest.mark.parametrize(
    ("page", "wrong", "figures"),
    [
        ((200, {"products": [1]}), False, "home went well"),
        ((200, {"products": []}), True, "a visit to home: missing_data 200"),
        ((200, {"items": [1]}), True, "a visit to home: wrong_data 200"),
        ((500, {}), True, "a visit to home: error 500"),
    ],
)
def test_a_visit_tells_whether_users_get_what_they_should(
    site: Site, page: tuple[int, object], wrong: bool, figures: str
) -> None:
    site.page = page
    effect = goes_wrong(site.app(), ("home",))
    assert (effect.confirmed, effect.figures) == (wrong, figures)


def test_the_messages_that_wait_are_those_of_the_longest_queue(site: Site, engine: FakeEngine) -> None:
    site.metrics += 'messaging_queue_depth{queue="mail"} 7.0\n'
    effect = queue_grows(site.app(), "notifier", engine, ("home",), 5.0)
    assert (effect.confirmed, effect.figures) == (True, "7 messages wait in mail")
    assert not queue_grows(site.app(), "notifier", engine, ("home",), 8.0).confirmed
    site.metrics = ""
    assert queue_grows(site.app(), "notifier", engine, ("home",), 1.0).figures == "0 messages wait in no queue"


def test_cpu_time_is_counted_for_each_request(site: Site, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([1.0, 1.3, 1.3, 1.6])
    monkeypatch.setattr(engine, "cpu_usage", lambda _: CpuUsage(0.0, next(readings), 0, 0))
    effect = takes_cpu(site.app(), "products", engine, ("home",), 0.2)
    assert (effect.confirmed, effect.figures) == (True, "300 ms of CPU time for each of 0 requests")
    assert not takes_cpu(site.app(), "products", engine, ("home",), 0.4).confirmed


def test_memory_must_grow_by_so_much(site: Site, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_effects, "WATCHED_S", 0.1)
    readings = iter([80 * 2**20, 95 * 2**20, 95 * 2**20, 96 * 2**20])
    monkeypatch.setattr(engine, "memory_used", lambda _: next(readings))
    effect = grows(site.app(), "products", engine, ("home",), 8 * 2**20)
    assert (effect.confirmed, effect.figures) == (True, "80 MiB in use, 95 MiB 0 s later, started again 0 times")
    assert not grows(site.app(), "products", engine, ("home",), 8 * 2**20).confirmed


def test_memory_that_ran_out_grew_enough(site: Site, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_effects, "WATCHED_S", 0.1)
    monkeypatch.setattr(engine, "memory_used", lambda _: 35 * 2**20)
    counts = iter([0, 1])
    monkeypatch.setattr(engine, "restarts", lambda _: next(counts))
    assert grows(site.app(), "products", engine, ("home",), 8 * 2**20).confirmed


def test_calls_are_counted_for_each_request_by_whom_they_go_to(
    site: Site, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = iter([Counter({"1": 5}), Counter({"1": 65}), Counter({"1": 65}), Counter({"1": 66})])
    monkeypatch.setattr(code_effects, "_asked", lambda app, engine: next(counted))
    calls = 'http_client_request_duration_seconds_count{error_type="",http_response_status_code="200",server_address="cart"} '
    monkeypatch.setattr(site, "each_time", lambda turn: f"{METRICS}{calls}{float(turn)}\n")
    effect = repeats_itself(site.app(), "products", engine, ("home",), "", 20.0, 9.0)
    assert (effect.confirmed, effect.figures) == (
        True,
        "one statement ran 60 times for 2 requests to any page, and one service was called 3 times for 1 requests",
    )
    assert repeats_itself(site.app(), "products", engine, ("home",), "", 20.0, 1.5).confirmed
    monkeypatch.setattr(code_effects, "_asked", lambda app, engine: Counter())
    assert not repeats_itself(site.app(), "products", engine, ("home",), "", 20.0, 9.0).confirmed


def test_statements_of_a_page_are_told_from_requests_for_other_pages(
    site: Site, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page was asked for four times more, while forty requests went elsewhere."""
    count = (
        'http_server_request_duration_seconds_count{http_request_method="GET",http_route="%s",http_response_status_code="200"} %d'
    )
    looks = itertools.count()

    def served(_: int) -> str:
        later = next(looks) >= 3
        return f"{count % ('/', 14 if later else 10)}\n{count % ('/posts/{id:int}', 90 if later else 50)}\n"

    monkeypatch.setattr(site, "each_time", served)
    counted = iter([Counter({"1": 5}), Counter({"1": 105})])
    monkeypatch.setattr(code_effects, "_asked", lambda app, engine: next(counted))
    effect = repeats_itself(site.app(), "products", engine, ("home",), "/", 8.0, 1.5)
    assert effect.confirmed
    assert effect.figures.startswith("one statement ran 100 times for 4 requests to /,")


def test_a_database_that_cannot_be_asked_is_an_error(site: Site, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "address", lambda service: "127.0.0.1" if service == "products" else "nowhere.invalid")
    with pytest.raises(FaultError, match="postgres does not say which statements ran"):
        repeats_itself(site.app(), "products", engine, ("home",), "", 20.0, 1.5)


def test_nothing_is_looked_at_before_the_new_version_runs(site: Site, engine: FakeEngine) -> None:
    fault = Fault("exception_on_input", "products", "all")
    assert (
        kind_named(fault.kind).active(site.app(), fault, engine).figures
        == "version 1.4.3 runs; 3 of 12 requests to it and 0 messages failed"
    )
    engine.files["products", VERSION] = StoredFile(b"1.4.4\n", 0o644, 0, 0, 1.0)
    assert kind_named(fault.kind).active(site.app(), fault, engine).figures == "version 1.4.3 runs"


def test_a_worker_fails_on_messages_where_others_fail_on_requests(site: Site, engine: FakeEngine) -> None:
    handled = 'messaging_process_duration_seconds_count{outcome="%s",queue="order-placed"} %d.0\n'
    site.metrics = METRICS.partition("http_server")[0] + handled % ("done", 9) + handled % ("failed", 2) + handled % ("dead", 1)
    effect = kind_named("exception_on_input").active(site.app(), Fault("exception_on_input", "products", "all"), engine)
    assert (effect.confirmed, effect.figures) == (True, "version 1.4.3 runs; 0 of 0 requests to it and 3 messages failed")
