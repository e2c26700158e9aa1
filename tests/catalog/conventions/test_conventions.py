"""Each convention reads what its exporter really writes, and says the same of a signal as every other one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from revelio.catalog.conventions import Convention, Rule, conventions, signals
from revelio.catalog.conventions.loader import load_conventions
from revelio.catalog.conventions.reference import reference
from revelio.errors import CatalogError

SAMPLES = Path(__file__).parent / "samples"
RECORDED = [c for c in conventions().values() if c.source == "recorded"]

SAMPLE_OF = {
    "grpc": "etcd",
    "go-runtime": "etcd",
    "http-histogram": "nodejs",
    "rabbitmq-broker": "rabbitmq-totals",
    "process": "flask",
    "scrape": "",
    "opentelemetry-http-unitless": "opentelemetry-nodejs",
}
"""Conventions whose sample is another's; Prometheus itself makes the series of a scrape."""

NOT_IN_SAMPLE = {
    "node-exporter": {"link_backlog", "failed_units"},  # collectors that are off by default
    "mysqld-exporter": {"db_replication_lag", "db_replication_broken"},  # of a replica
    "postgres-exporter": {"db_scanned_rows", "db_replication_lag"},  # of tables and of a replica
    "redis-exporter": {"cache_replication_broken"},  # of a replica
    "blackbox-exporter": {"certificate_expiry"},  # of a page without TLS there is none
    "grpc": {"rpc_latency_p95"},  # etcd leaves the histogram out
    "rabbitmq": {"queue_published"},
    "micrometer": {"edge_rate", "edge_error_rate", "edge_latency_p95", "handling_failures", "handling_rate"},  # no such calls
}
"""Signals that a real program writes only in another set-up, by convention."""

_READ = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{\$\{(?:where|scope)\}(?:,([^{}]*))?\}")


def series(sample: str) -> dict[str, set[str]]:
    """The labels of each metric of a sample."""
    found: dict[str, set[str]] = {}
    text = (SAMPLES / f"{sample}.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition("{") if "{" in line else (line.split()[0], "", "")
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', rest.rpartition("}")[0]))
    return found


def sample_of(convention: Convention) -> dict[str, set[str]]:
    """What the real program wrote; some exporters write in two ways."""
    name = SAMPLE_OF.get(convention.name, convention.name)
    return series(name) | (series("rabbitmq-detailed") if name == "rabbitmq" else {}) if name else {}


def rules(convention: Convention) -> Iterator[Rule]:
    """Those that the sample has to hold: the first variant that is there, of each signal that this set-up writes."""
    written = sample_of(convention)
    for signal in dict.fromkeys(r.signal for r in convention.rules):
        variants = [r for r in convention.rules if r.signal == signal]
        if signal not in NOT_IN_SAMPLE.get(convention.name, ()):
            yield next((r for r in variants if written.keys() >= set(r.metrics)), variants[0])


@pytest.mark.parametrize("convention", [c for c in RECORDED if c.name != "scrape"], ids=lambda c: c.name)
def test_the_metrics_and_labels_of_a_convention_are_those_that_its_program_writes(convention: Convention) -> None:
    written = sample_of(convention)
    for rule in rules(convention):
        assert written.keys() >= set(rule.metrics), rule.signal
        for metric, matchers in _READ.findall(rule.query.split(" or ")[0]):
            labels = set(re.findall(r'(\w+)(?:=~|!~|!=|=)"[^"]', matchers))
            assert labels <= written[metric], f"{rule.signal}: {metric} has no {labels - written[metric]}"
        for label in rule.labels:
            assert all(label in written[metric] for metric in rule.metrics), f"{rule.signal}: no {label}"


@pytest.mark.parametrize("convention", [c for c in RECORDED if c.name in NOT_IN_SAMPLE], ids=lambda c: c.name)
def test_what_is_said_to_be_missing_in_a_sample_is(convention: Convention) -> None:
    written = sample_of(convention)
    for signal in NOT_IN_SAMPLE[convention.name]:
        assert not any(written.keys() >= set(r.metrics) for r in convention.rules if r.signal == signal), signal


@pytest.mark.parametrize("convention", conventions().values(), ids=lambda c: c.name)
def test_a_pattern_has_a_place_for_the_entity_and_balanced_brackets(convention: Convention) -> None:
    for rule in convention.rules:
        for text in (rule.query, *dict(rule.views).values()):
            assert "${of}" in text or "${where}" in text, rule.signal
            assert all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}")), f"{rule.signal}: {text}"
            assert not re.search(r"\[\d+s\]", text), f"{rule.signal}: the range of a rate follows the scrape interval"
            assert set(re.findall(r"\$\{(\w+)\}", text)) <= {"of", "where", "scope", "rate_interval"}, rule.signal


def test_there_are_conventions_for_every_signal_and_each_recorded_one_says_how() -> None:
    assert {r.signal for c in conventions().values() for r in c.rules} == signals().keys()
    assert all(c.command for c in RECORDED)
    assert len(RECORDED) >= 15
    assert len(conventions()) >= 25


def test_the_page_tells_of_every_convention_and_signal() -> None:
    page = reference()
    assert all(f"## {name}\n" in page for name in conventions())
    assert all(f"| `{name}` |" in page for name in signals())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("title: x", "component: Field required"),
        ("title: x\ncomponent: [job]\nsource: documentation\nsignals: {telepathy: 'up{${where}}'}", "no signal 'telepathy'"),
        ("title: x\ncomponent: [job]\nsource: documentation\nsignals: {up: up}", "no metric{${where}}"),
        ("[", "cannot be read"),
    ],
)
def test_a_mistake_is_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(CatalogError, match=re.escape(told)):
        load_conventions(tmp_path / "mine.yaml")
