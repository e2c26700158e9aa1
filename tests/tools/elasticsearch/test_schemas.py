"""OpenSearch and Elasticsearch, and logs in five schemas that are found out: from recorded replies and from real ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_httpserver import HTTPServer

from revelio.tools.base import Scope
from revelio.tools.elasticsearch.fields import mapped
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
    """The address of a store of that name with the same lines in five schemas, and their scope."""
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
            assert {e.name for e in seen.entities} == {"orders"}, "neither a blank name nor another application"
            told = {(p.entity.name, p.level): (p.count, p.baseline_count) for p in seen.logs}
            assert told == {("orders", "ERROR"): (20, 0), ("orders", "INFO"): (0, 60)}, schema
            for template, bindings in QUESTIONS:
                if schema in ("kubernetes", "filebeat") and template == "elasticsearch.failing_trace":
                    continue  # the trace is inside of the line
                if template == "elasticsearch.failing_trace" and schema == "plain":
                    continue  # it has no traces
                if template == "elasticsearch.exceptions" and schema in ("kubernetes", "plain", "filebeat"):
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
            assert latest.summary.startswith("20 lines in 60 s, 60 in the 1") and latest.signal == 0.0


def test_a_field_that_is_mapped_and_never_filled_names_nothing() -> None:
    types: dict[str, dict[str, object]] = {"message": {"text": {}}}
    types |= {name: {"keyword": {}} for name in ("service.name", "log.level", "container.name", "@timestamp")}
    there = mapped({"fields": types})
    assert there is not None
    found = there.fields({"service.name": 0, "log.level": 0, "container.name": 900}, 900)
    assert found is not None
    assert (found.schema.service, found.spoken_levels, "log.level" in found.lacking) == ("container.name", True, True)
    some = there.fields({"service.name": 9, "log.level": 500, "container.name": 900}, 900)
    assert some is not None
    assert (some.schema.service, some.schema.level, some.spoken_levels) == ("container.name", "log.level", True)
