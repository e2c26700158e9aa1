"""Results of older versions get the kind, roles and error that newer ones carry."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import revelio
from revelio.presentation import evidence_panels
from revelio.systems.incidents.exchange import dump_record, parse_record, read_records
from revelio.systems.incidents.untyped_results import typed
from revelio.types import Result

BUNDLED = sorted((Path(revelio.__file__).parent / "bundled" / "incidents").iterdir())
RECORDED = [record for path in BUNDLED[:12] for record in read_records(path)]


def test_recorded_results_have_a_kind_and_a_role_for_each_column() -> None:
    results = [r.result for record in RECORDED for r in record.results]
    kinds = Counter(r.kind for r in results)
    assert "unspecified" not in kinds
    assert {"series", "log_lines", "exceptions", "operations", "self_time", "flows", "changes", "containers"} <= kinds.keys()
    assert all(len(r.roles) == len(r.columns) for r in results)


def test_no_panel_depends_on_the_title_of_a_column() -> None:
    for record in RECORDED:
        for recorded in record.results:
            result = recorded.result
            renamed = replace(result, columns=tuple(f"renamed {i}" for i, _ in enumerate(result.columns)))
            before, after = (
                [p for p in evidence_panels(r, record.evidence).panels if p.kind != "table"] for r in (result, renamed)
            )
            assert before == after, recorded.template


def test_a_failed_run_of_an_older_version_becomes_an_error() -> None:
    failed = typed(Result("not run: jaeger: gave no answer", 0.0, "jaeger: gave no answer"))
    assert (failed.error, failed.summary) == ("jaeger: gave no answer", "")


def test_a_typed_result_is_left_alone() -> None:
    table = Result("not run: a title", 0.0, "", ("at", "container", "what", "before", "after"), kind="table", roles=("",) * 5)
    assert typed(table) is table


@pytest.mark.parametrize(
    ("columns", "measure"),
    [
        (("sent by", "to", "service's port", "protocol", "resets in the last 30 s", "in 60 s before", "of packets"), "resets"),
        (("from", "to", "port", "protocol", "unanswered in the last 5 s", "in 9 s before", "SYNs now"), "unanswered SYNs"),
        (("from", "to", "port", "protocol", "bytes/s now", "bytes/s before", "bytes there"), "traffic"),
    ],
)
def test_flows_of_older_versions_say_what_they_measure(columns: tuple[str, ...], measure: str) -> None:
    found = typed(Result("s", 0.5, "r", columns))
    assert (found.kind, found.measure, found.roles[4:6]) == ("flows", measure, ("now", "before"))


def test_a_record_without_kinds_is_read_and_one_with_kinds_is_kept() -> None:
    (record,) = [replace(r, results=r.results[:40]) for r in RECORDED[:1]]
    old = json.loads(dump_record(record))
    for recorded in old["results"]:
        for key in ("kind", "roles", "measure", "error"):
            del recorded["result"][key]
    assert parse_record(json.dumps(old), "old").results == parse_record(dump_record(record), "new").results
