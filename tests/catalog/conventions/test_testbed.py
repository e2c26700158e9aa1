"""The testbed is one system among others: by its profile, the conventions write the PromQL of its recorded incidents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from revelio.catalog import bundled_catalog
from revelio.catalog.conventions import recorded_profile, signals
from revelio.catalog.conventions.rendering import overview
from revelio.tools.base import Scope
from revelio.tools.prometheus import promql
from revelio.types import Query, QueryTemplate, Window

RECORDED = json.loads((Path(__file__).parent / "testbed_promql.json").read_text(encoding="utf-8"))
SCOPE = Scope("shop", Window(60.0, 90.0), Window(0.0, 60.0))


def values(body: str) -> dict[str, str]:
    return {name: f"the-{name}" for name in re.findall(r"\$\{(\w+)\}", body) if name != "project"}


def as_recorded(body: str) -> str:
    return promql.filled(Query(QueryTemplate("t", "prometheus", "t", "", body), tuple(sorted(values(body).items()))), SCOPE)


@pytest.mark.parametrize("template", RECORDED["templates"])
def test_a_template_is_written_as_it_was_recorded(template: str) -> None:
    body = RECORDED["templates"][template]
    query = Query(bundled_catalog().template(template), tuple(sorted(values(body).items())))
    assert promql.render(query, SCOPE, recorded_profile()) == as_recorded(body)


EXCEPTIONS: dict[str, Callable[[str], str]] = {
    # The name of an edge is put together from its labels afterwards, and series without a name are left out there too.
    "edge_rate": lambda text: text.removeprefix("label_join(").removesuffix(', "edge", "->", "service", "server_address")'),
    "up": lambda text: text.replace(',service!=""', ""),
    # The second part names its entity by another label: it is a reading of its own.
    "fds_of_limit": lambda text: re.sub(r"label_join\((.+), \"container\".*", r"\1)", text).replace(
        " by (container) (process", " by (service) (process"
    ),
}
EXCEPTIONS |= {"edge_error_rate": EXCEPTIONS["edge_rate"], "edge_latency_p95": EXCEPTIONS["edge_rate"]}


@pytest.mark.parametrize("signal", RECORDED["metrics"])
def test_a_snapshot_reads_what_it_read_when_incidents_were_recorded(signal: str) -> None:
    written = " or ".join(overview(recorded_profile(), use, rule) for use, rule in recorded_profile().rules[signal])
    recorded = EXCEPTIONS.get(signal, str)(RECORDED["metrics"][signal])
    assert as_recorded(written) == as_recorded(recorded)


def test_the_testbed_has_the_signals_that_its_incidents_hold_and_no_other() -> None:
    assert list(recorded_profile().rules) == list(RECORDED["metrics"])
    assert list(signals())[: len(RECORDED["metrics"])] == list(RECORDED["metrics"])
