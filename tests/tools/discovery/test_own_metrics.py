"""Requests, errors and latency are found by their shape, whatever an application calls them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from revelio.tools.discovery.own_metrics import Query, Vector, own_conventions

CADDY = (Path(__file__).parent / "samples" / "caddy.txt").read_text(encoding="utf-8")

SHOPFRONT = """
shopfront_http_requests_total{endpoint="/cart",http_method="GET",status_code="200",job="shop"} 900
shopfront_http_requests_total{endpoint="/cart",http_method="POST",status_code="503",job="shop"} 9
shopfront_request_latency_bucket{endpoint="/cart",le="50",job="shop"} 800
shopfront_request_latency_bucket{endpoint="/cart",le="2500",job="shop"} 909
shopfront_request_latency_bucket{endpoint="/cart",le="+Inf",job="shop"} 909
shopfront_request_latency_count{endpoint="/cart",job="shop"} 909
shopfront_request_latency_sum{endpoint="/cart",job="shop"} 12000
shopfront_cart_items 3
"""
ORDERS = """
orders_requests_total{job="orders"} 500
orders_request_errors_total{job="orders"} 12
orders_processing_time_seconds{quantile="0.95",job="orders"} 0.2
orders_processing_time_seconds_count{job="orders"} 500
orders_processing_time_seconds_sum{job="orders"} 30
orders_client_requests_total{job="orders",code="200"} 9000
"""


def series(text: str) -> Vector:
    found = []
    for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
        found.append(({"__name__": name, **dict(re.findall(r'(\w+)="([^"]*)"', labels))}, float(value)))
    return found


def asking(text: str) -> tuple[list[str], Query]:
    """The names of all metrics, and a server that has them."""
    rows = series(text)

    def query(said: str) -> Vector:
        wanted = re.findall(r'__name__=~"([^"]+)"', said)[0]
        return [(labels, value) for labels, value in rows if re.fullmatch(wanted, labels["__name__"])]

    return [labels["__name__"] for labels, _ in rows], query


def rules(text: str) -> dict[str, str]:
    [convention] = own_conventions(*asking(text))
    return {rule.signal: rule.query for rule in convention.rules}


def test_the_requests_of_a_real_server_are_found_and_those_of_its_admin_page_are_not_taken_for_them() -> None:
    found = rules(CADDY)
    assert found.keys() == {"request_rate", "error_rate", "latency_p95", "latency_mean"}
    assert "caddy_http_request_duration_seconds_count{${where}}" in found["request_rate"]
    assert 'caddy_http_request_duration_seconds_count{${where},code=~"5..|5XX"}' in found["error_rate"]
    assert "caddy_http_request_duration_seconds_bucket" in found["latency_p95"]
    assert not any("admin" in query for query in found.values())


def test_labels_tell_which_requests_failed_and_buckets_tell_the_unit() -> None:
    found = rules(SHOPFRONT)
    assert 'shopfront_http_requests_total{${where},status_code=~"5..|5XX"}' in found["error_rate"]
    assert found["latency_p95"].endswith("/ 1000"), "buckets up to 2,500 are milliseconds"
    [convention] = own_conventions(*asking(SHOPFRONT))
    views = dict(next(r for r in convention.rules if r.signal == "error_rate").views)
    assert "http_method, endpoint, status_code" in views["route"]


def test_errors_counted_apart_and_summaries_are_read_and_calls_to_others_are_not_requests() -> None:
    found = rules(ORDERS)
    assert "orders_requests_total{" in found["request_rate"]
    assert "orders_request_errors_total{" in found["error_rate"]
    assert "quantile=~" in found["latency_p95"]


def test_more_errors_than_requests_are_errors_of_something_else() -> None:
    assert "error_rate" not in rules(ORDERS.replace('errors_total{job="orders"} 12', 'errors_total{job="orders"} 1200'))


@pytest.mark.parametrize(
    "text",
    [
        "go_gc_duration_seconds_count 3\ngo_gc_duration_seconds_sum 1",
        "node_disk_io_time_seconds_total 9",
        'prometheus_http_requests_total{code="200"} 9',
        "backup_duration_seconds_count 3\nbackup_duration_seconds_sum 900",
        "shop_carts_total 12",
    ],
)
def test_what_is_no_request_of_an_application_makes_no_convention(text: str) -> None:
    assert own_conventions(*asking(text)) == ()
