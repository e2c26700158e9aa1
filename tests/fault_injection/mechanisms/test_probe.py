"""What an operator can see of one container from outside."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from fault_injection.apps import app_named
from fault_injection.mechanisms.probe import answers
from fault_injection.mechanisms.service_metrics import requests_served
from revelio.errors import FaultError
from tests.fault_injection.fake_engine import FakeEngine

APP = app_named("shop", Path("unused"))
ENGINE = FakeEngine("cart", "redis")
COUNT = 'http_server_request_duration_seconds_count{http_request_method="GET",'
PAGE = f"""# TYPE http_server_request_duration_seconds histogram
{COUNT.replace("_count", "_bucket")}http_route="/carts/{{s}}",http_response_status_code="200",le="0.1"}} 9.0
{COUNT}http_route="/carts/{{s}}",http_response_status_code="200"}} 9.0
{COUNT}http_route="/carts/{{s}}",http_response_status_code="500"}} 2.0
{COUNT}http_route="/carts",http_response_status_code="502"}} 1.0
"""


def test_requests_are_counted_by_status_also_where_a_route_has_braces(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/metrics").respond_with_data(PAGE)
    app = replace(APP, service_port=httpserver.port)
    assert requests_served(app, "cart", ENGINE) == 12
    assert requests_served(app, "cart", ENGINE, "5") == 3


def test_a_metrics_page_that_fails_is_an_error_with_the_service_s_name(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/metrics").respond_with_data("no", status=500)
    with pytest.raises(FaultError, match="cart does not show its metrics"):
        requests_served(replace(APP, service_port=httpserver.port), "cart", ENGINE)


def test_an_answer_is_timed(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/healthz").respond_with_data("ok")
    waited = answers(replace(APP, service_port=httpserver.port), "cart", ENGINE, seconds=2.0)
    assert waited is not None and 0 < waited < 2.0


def test_a_container_that_accepts_and_says_nothing_hangs() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = int(silent.getsockname()[1])
        assert answers(replace(APP, service_port=port), "cart", ENGINE, seconds=0.2) is None


def test_nobody_listening_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
    assert answers(replace(APP, service_port=port), "cart", ENGINE, seconds=0.2) is None
