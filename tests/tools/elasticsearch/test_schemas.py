"""OpenSearch and Elasticsearch, and logs in four schemas that are found out: from recorded replies and from real ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_httpserver import HTTPServer

from revelio.tools.base import Scope
from tests.tools.conftest import bound
from tests.tools.elasticsearch.servers import BY_SERVICE, LATEST, PLUGINS, QUESTIONS, SCHEMAS, SERVERS, log_store
from tests.tools.recorded import Recording

ASKED = [
    ("recorded", "opensearch"),
    ("recorded", "elasticsearch"),
    ("real", "opensearch"),
    ("real", "elasticsearch"),
]


@pytest.fixture(params=ASKED, ids="-".join)
def asked(request: pytest.FixtureRequest, httpserver: HTTPServer) -> Iterator[tuple[str, str, Scope]]:
    """The address of a store of that name with the same lines in four schemas, and their scope."""
    how, name = request.param
    if how == "recorded":
        recording = Recording.load(name)
        recording.replay(httpserver)
        yield name, httpserver.url_for("").rstrip("/"), recording.scope
    else:
        with SERVERS[name]() as (url, scope):
            yield name, url, scope


def test_the_same_lines_are_read_from_every_schema(asked: tuple[str, str, Scope]) -> None:
    """One test, so that a real store starts once."""
    name, url, scope = asked
    for schema in SCHEMAS:
        with log_store(name, url, schema) as tool:
            seen = tool.snapshot(scope)
            told = {(p.entity.name, p.level): (p.count, p.baseline_count) for p in seen.logs}
            assert told == {("orders", "ERROR"): (20, 0), ("orders", "INFO"): (0, 60)}, schema
            for template, bindings in QUESTIONS:
                if schema == "kubernetes" and template in ("elasticsearch.log_rate", "elasticsearch.failing_trace"):
                    continue  # level and trace are inside of the line, by which the store does not group
                if template == "elasticsearch.failing_trace" and schema == "plain":
                    continue  # it has no traces
                if template == "elasticsearch.exceptions" and schema in ("kubernetes", "plain"):
                    continue  # the type is inside of the line
                result = tool.run(bound(template, **bindings), scope)
                assert result.signal == 1.0, (schema, template)
            errors = tool.run(bound("elasticsearch.timeouts", service="orders"), scope)
            assert dict(zip(errors.roles, errors.rows[0], strict=True))["error_type"] == "TimeoutError", schema
    if name == "elasticsearch" and (PLUGINS.exists() or "localhost" in url):
        with log_store(name, url, "ecs") as tool:
            grouped = tool.run(BY_SERVICE, scope)
            assert grouped.columns == ("n", "service.name", "n before")
            assert grouped.rows == ((20, "orders", None),)
            assert grouped.signal == 1.0 and "orders" in grouped.reason
            latest = tool.run(LATEST, scope)
            assert latest.columns == ("@timestamp", "service.name", "message")
            assert len(latest.rows) == 20 and latest.rows[0][1] == "orders"
            assert latest.summary == "20 lines in 60 s, 60 in the 180 s before" and latest.signal == 0.0
