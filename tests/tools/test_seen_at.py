"""An address that was given for one product and is another one's is told as that."""

from __future__ import annotations

import pytest
from pytest_httpserver import HTTPServer

from revelio.catalog import bundled_catalog
from revelio.errors import SourceError
from revelio.tools.seen_at import identify_other_product, seen_at
from tests.tools.recorded import Recording


@pytest.mark.parametrize(
    ("there", "asked", "told"),
    [
        ("loki", "prometheus", "Loki answers; name it as backends.loki"),
        ("tempo", "jaeger", ""),
        ("opensearch", "prometheus", "OpenSearch 2.19.1 answers; name it as backends.opensearch"),
    ],
)
def test_another_product_is_named(httpserver: HTTPServer, there: str, asked: str, told: str) -> None:
    Recording.load(there).replay(httpserver)
    assert identify_other_product(bundled_catalog(), asked, httpserver.url_for("").rstrip("/")) == told
    with pytest.raises(SourceError):
        seen_at(bundled_catalog(), asked, httpserver.url_for("").rstrip("/"))


def test_a_grafana_is_told_to_be_one(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/api/health").respond_with_json({"database": "ok", "version": "11.0.0"})
    httpserver.expect_request("/api/datasources").respond_with_json([])
    told = identify_other_product(bundled_catalog(), "prometheus", httpserver.url_for("").rstrip("/"))
    assert told == "a Grafana answers; give the address of the data source that it asks"


def test_nothing_is_said_of_what_is_not_known_or_not_there(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/").respond_with_data("hello")
    assert identify_other_product(bundled_catalog(), "prometheus", httpserver.url_for("").rstrip("/")) == ""
    assert identify_other_product(bundled_catalog(), "loki", "http://127.0.0.1:1") == ""
    assert identify_other_product(bundled_catalog(), "postgres", "postgresql://127.0.0.1:1/shop") == ""
