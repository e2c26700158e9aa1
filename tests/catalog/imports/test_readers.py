"""Rules, dashboards, runbooks and saved searches as they are written today, and broken ones."""

from __future__ import annotations

import json

import pytest
import yaml

from revelio.catalog.imports.grafana import read_dashboard
from revelio.catalog.imports.question import Collector, ImportResult
from revelio.catalog.imports.rules import read_rules
from revelio.catalog.imports.runbooks import read_runbook
from revelio.catalog.imports.searches import read_searches

RULES = """
groups:
- name: shop
  rules:
  - alert: HighErrorRate
    expr: sum by (job) (rate(http_requests_total{code=~"5.."}[5m])) > 0.5
    for: 10m
    labels: {severity: page}
    annotations:
      summary: "{{ $labels.job }} fails"
      description: "More than 0.5 errors a second: {{ $value }}."
      runbook_url: https://wiki.example.com/errors
  - record: job:latency:p99
    expr: histogram_quantile(0.99, sum by (le, job) (rate(latency_bucket[5m])))
  - alert: Broken
"""
DASHBOARD = {
    "title": "Checkout",
    "uid": "abc",
    "templating": {"list": [{"name": "top", "type": "constant", "query": "5"}, {"name": "job", "type": "query"}]},
    "panels": [
        {"id": 1, "type": "row", "title": "a row", "panels": [
            {"id": 2, "type": "timeseries", "title": "Errors of $job", "description": "Failed requests",
             "targets": [{"expr": 'sum by (job) (rate(errors_total{job=~"$job"}[$__rate_interval]))', "refId": "A"}]}]},
        {"id": 3, "type": "table", "title": "Logs", "datasource": {"type": "loki"}, "targets": [{"expr": "{a=1}"}]},
        {"id": 4, "type": "stat", "title": "Odd", "targets": [{"expr": "x + $unknown"}]},
    ],
}  # fmt: skip
RUNBOOK = """# Payments are slow

## Is the database busy?
Look at its connections first.

```promql
pg_stat_activity_count{job="$job"} > 50
```

```sh
$ kubectl -n shop get pods
```

## Locks
```sql
SELECT pid, query FROM pg_stat_activity WHERE wait_event_type = 'Lock'
```

## Clean up
```sql
DELETE FROM carts
```
```bash
rm -rf /tmp/x
```
"""


def of(read: object) -> ImportResult:
    into = Collector()
    read(into)  # type: ignore[operator]
    return into.found()


def test_rules_are_what_they_judge_with_their_words() -> None:
    found = of(lambda into: read_rules(yaml.safe_load(RULES), "shop.yml", into))
    alert, recording = found.questions
    assert alert.body == 'sum by (job) (rate(http_requests_total{code=~"5.."}[5m]))'
    assert (alert.title, alert.url) == ("HighErrorRate: … fails", "https://wiki.example.com/errors")
    assert alert.credit == "From your alerting rule HighErrorRate in the group shop."
    assert recording.title == "job:latency:p99"
    assert found.problems == ("shop.yml: group shop, rule 3 (Broken): the expression is missing",)


def test_rules_of_a_server_and_of_kubernetes_are_read_too() -> None:
    rule = {"name": "Down", "query": "up == 0", "type": "alerting", "annotations": {"summary": "down"}}
    served = {"status": "success", "data": {"groups": [{"name": "g", "rules": [rule]}]}}
    [down] = of(lambda into: read_rules(served, "prometheus", into, "http://p/rules")).questions
    assert (down.body, down.url) == ("up", "http://p/rules")
    resource = {"kind": "PrometheusRule", "spec": {"groups": [{"name": "g", "rules": [{"alert": "Down", "expr": "up == 0"}]}]}}
    assert of(lambda into: read_rules({"items": [resource]}, "k8s", into)).questions[0].body == "up"


def test_panels_of_a_dashboard_with_a_way_back() -> None:
    found = of(lambda into: read_dashboard(DASHBOARD, "checkout.json", into, "https://grafana.example.com/"))
    [errors] = found.questions
    assert errors.body == 'sum by (job) (rate(errors_total{job=~"${job}"}[${rate_interval}]))'
    assert errors.blanks == (("job", "label:job"),)
    assert errors.url == "https://grafana.example.com/d/abc?viewPanel=2"
    assert errors.credit == 'From your dashboard "Checkout", panel "Errors of …".'
    assert found.problems == ("checkout.json: panel Odd: the expression uses the variable unknown, which has no value",)


def test_a_dashboard_of_the_newest_schema_is_read() -> None:
    query = {"kind": "DataQuery", "group": "prometheus", "spec": {"expr": "up"}}
    data = {"kind": "QueryGroup", "spec": {"queries": [{"kind": "PanelQuery", "spec": {"query": query}}]}}
    spec = {"title": "New", "elements": {"panel-1": {"kind": "Panel", "spec": {"id": 1, "title": "Up", "data": data}}}}
    document = {"apiVersion": "dashboard.grafana.app/v2beta1", "metadata": {"name": "uid1"}, "spec": spec}
    [up] = of(lambda into: read_dashboard(document, "new.json", into, "https://g")).questions
    assert (up.title, up.body, up.url) == ("New: Up", "up", "https://g/d/uid1?viewPanel=1")


def test_a_runbook_gives_its_queries_and_shows_its_commands() -> None:
    found = of(lambda into: read_runbook(RUNBOOK, "payments.md", into))
    connections, locks = found.questions
    assert (connections.tool, connections.body) == ("prometheus", 'pg_stat_activity_count{job=~"${job}"}')
    assert "for you to run: kubectl -n shop get pods" in connections.shows
    assert connections.credit == 'From your runbook "Payments are slow", section "Is the database busy?".'
    assert (locks.tool, locks.title) == ("postgres", "Payments are slow: Locks")
    assert len(found.problems) == 1
    assert "does more than read" in found.problems[0]


def saved(query: str, language: str = "kuery", **more: object) -> str:
    source = {"query": {"query": query, "language": language}, **more}
    attributes = {"title": "Failed", "kibanaSavedObjectMeta": {"searchSourceJSON": json.dumps(source)}}
    return json.dumps({"id": "s1", "type": "search", "attributes": attributes})


def test_saved_searches_become_clauses() -> None:
    text = saved('log.level : "error" and not service.name: cart', filter=[{"query": {"match_phrase": {"a": "b"}}, "meta": {}}])
    [search] = of(lambda into: read_searches(text, "export.ndjson", into)).questions
    assert search.body == {
        "view": "lines",
        "query": {
            "bool": {
                "filter": [
                    {"match_phrase": {"log.level": "error"}},
                    {"bool": {"must_not": [{"match_phrase": {"service.name": "cart"}}]}},
                    {"match_phrase": {"a": "b"}},
                ]
            }
        },
    }


@pytest.mark.parametrize("line", ["{", saved("a or b"), saved("x", "eql"), json.dumps({"type": "dashboard"})])
def test_a_search_that_cannot_be_read_is_one_sentence(line: str) -> None:
    found = of(lambda into: read_searches(line, "export.ndjson", into))
    assert found.questions == ()
    assert len(found.problems) == 1


@pytest.mark.parametrize("document", [None, [], 7, "x", {"groups": 1}, {"groups": [1]}, {"panels": [1, None, {"targets": 3}]}])
def test_anything_else_is_one_sentence_and_no_error(document: object) -> None:
    for read in (read_rules, read_dashboard):
        found = of(lambda into, read=read: read(document, "odd", into))
        assert found.questions == ()
        assert len(found.problems) <= 1


def test_a_question_of_a_runbook_says_what_the_runbook_is_about() -> None:
    head = "---\ntitle: Slow\nweight: 2\n---\n\n## Meaning\nThe queue grows.\n\n"
    text = f"{head}## Diagnosis\nHow long it is:\n\n```promql\nqueue_length\n```\n"
    [question] = of(lambda into: read_runbook(text, "slow.md", into)).questions
    assert question.title == "Slow: Diagnosis"
    assert question.shows == "The queue grows. How long it is:"
    assert question.credit == 'From your runbook "Slow", section "Diagnosis".'
