"""The exchange format loses nothing, refuses what it does not know, and says where."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from revelio.errors import DatasetError
from revelio.systems.incidents.bundle import bundle, public
from revelio.systems.incidents.exchange import Record, dump_record, json_schema, parse_record, read_records, write_records
from revelio.types import Blank, Entity, Evidence, Query, QueryTemplate, Reading, Window
from tests.systems.incidents.made import record


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.xz"])
def test_what_is_written_is_read_again(tmp_path: Path, name: str) -> None:
    write_records(tmp_path / name, [record("a1"), record("a2")])
    back = list(read_records(tmp_path / name))
    assert [r.id for r in back] == ["a1", "a2"]
    assert replace(back[0], evidence=record().evidence) == record()
    assert back[0].evidence.series[0].values == (0.12346, 2.0)
    assert back[0].evidence.series[0].times[0] == pytest.approx(1_700_000_001.123, abs=1e-3)


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    write_records(tmp_path / "2.jsonl.xz", [record("b")])
    write_records(tmp_path / "1.jsonl", [record("a")])
    (tmp_path / "notes.txt").write_text("not incidents")
    assert [r.id for r in read_records(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"surprise": 1}, "surprise"),
        ({"opened_at": "soon"}, "opened_at"),
        ({"format": "revelio.incident/99"}, "revelio.incident/99"),
        ({"labels": [{"template": "t", "bindings": [], "grade": 4}]}, "grade"),
    ],
)
def test_a_wrong_line_is_refused_with_file_line_and_field(tmp_path: Path, change: dict[str, object], message: str) -> None:
    good = dump_record(record())
    wrong = json.dumps(json.loads(good) | change).encode()
    (tmp_path / "x.jsonl").write_bytes(good + wrong + b"\n")
    with pytest.raises(DatasetError, match=r"x\.jsonl:2: ") as caught:
        list(read_records(tmp_path / "x.jsonl"))
    assert message in str(caught.value)


def test_series_whose_times_and_values_differ_are_refused() -> None:
    document = json.loads(dump_record(record()))
    document["evidence"]["series"][0]["values"].append(1.0)
    with pytest.raises(DatasetError, match="differ in length"):
        parse_record(json.dumps(document), "here:1")


def test_earlier_windows_are_read_again_and_a_series_without_is_written_as_ever() -> None:
    assert b"earlier" not in dump_record(record())
    seen = record().evidence
    series = replace(seen.series[0], earlier=((1.0, 2.0), (3.0,)))
    back = parse_record(dump_record(replace(record(), evidence=replace(seen, series=(series,)))), "here:1")
    assert back.evidence.series[0].earlier == series.earlier


@pytest.mark.parametrize("figure", [float("nan"), float("inf")])
def test_only_values_of_a_series_can_be_missing(figure: float) -> None:
    document = json.loads(dump_record(record()))
    document["evidence"]["series"][0]["values"][0] = figure
    assert not math.isfinite(parse_record(json.dumps(document), "here:1").evidence.series[0].values[0])
    for wrong, message in (
        (document | {"opened_at": figure}, "opened_at"),
        (document | {"evidence": document["evidence"] | {"window": {"start": figure, "end": 2.0}}}, "window.start"),
    ):
        with pytest.raises(DatasetError, match=message):
            parse_record(json.dumps(wrong), "here:1")
    document["evidence"]["series"][0]["times"][0] = figure
    with pytest.raises(DatasetError, match="a time is not a number"):
        parse_record(json.dumps(document), "here:1")


def test_broken_compression_and_a_missing_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "cut.jsonl.xz").write_bytes(b"\xfd7zXZ\x00 not really")
    with pytest.raises(DatasetError, match=r"cut\.jsonl\.xz"):
        list(read_records(tmp_path / "cut.jsonl.xz"))
    with pytest.raises(DatasetError, match="no such file"):
        list(read_records(tmp_path / "gone.jsonl"))


def test_an_incident_of_a_system_never_seen_fits() -> None:
    """Kubernetes pods, tools with other names, candidates given, no report, ready-made features only."""
    pod = Blank("pod", "pod")
    query = Query(QueryTemplate("logs.get", "get_error_logs", "Error logs of ${pod}", "", "", (pod,)), (("pod", "web-7df9"),))
    foreign = replace(
        record(),
        reports=(),
        labels=(),
        results=(),
        fault=None,
        evidence=Evidence(
            Window(10.0, 20.0), Window(0.0, 10.0), (Entity("pod", "web-7df9"),), features=record().evidence.features
        ),
        candidates=(query,),
    )
    back = parse_record(dump_record(foreign), "x:1")
    assert back.candidates == (query,)
    assert back.incident().report == ""


def test_the_incident_that_serving_sees_has_no_field_for_the_truth() -> None:
    assert not {"labels", "fault", "split", "notes"} & set(record().incident().__slots__)


def test_the_schema_describes_a_written_line() -> None:
    schema = json_schema()
    assert set(json.loads(dump_record(record()))) == set(schema["properties"])


def test_a_bundled_incident_keeps_results_and_reports_but_none_of_the_truth(tmp_path: Path) -> None:
    write_records(tmp_path / "d/incidents/a1.jsonl.xz", [replace(record(), results=())])
    write_records(tmp_path / "d/results/a1.jsonl.xz", [record()])
    assert bundle(tmp_path / "d", ["a1"], tmp_path / "out") == ("a1",)
    back = next(read_records(tmp_path / "out"))
    assert back == public(back)
    assert back.results == record().results
    assert (back.labels, back.fault, back.notes, back.split, back.reports[0].writer) == ((), None, (), "", "")
    with pytest.raises(DatasetError, match="nope"):
        bundle(tmp_path / "d", ["nope"], tmp_path / "out")


def with_candidates(identity: str, *templates: QueryTemplate) -> Record:
    candidates = tuple(Query(t, (("service", name),)) for t in templates for name in ("cart", "web"))
    return replace(record(identity), candidates=candidates)


def function(identity: str, title: str = "Errors of ${service}") -> QueryTemplate:
    return QueryTemplate(identity, "theirs", title, "", "x" * 200, (Blank("service", "service"),), (Reading("logs", "error"),))


def test_templates_are_written_once_a_file_and_candidates_come_back_whole(tmp_path: Path) -> None:
    records = [with_candidates("a", function("t.1"), function("t.2")), with_candidates("b", function("t.1")), record("c")]
    write_records(tmp_path / "all.jsonl", records)
    assert (tmp_path / "all.jsonl").read_text().count("x" * 200) == 2
    assert [r.candidates for r in read_records(tmp_path)] == [r.candidates for r in records]


def test_another_template_of_the_same_id_stays_with_its_candidates(tmp_path: Path) -> None:
    records = [with_candidates("a", function("t.1")), with_candidates("b", function("t.1", "Other errors of ${service}"))]
    write_records(tmp_path / "all.jsonl", records)
    assert [r.candidates for r in read_records(tmp_path)] == [r.candidates for r in records]


def test_a_file_with_templates_in_every_candidate_is_still_read(tmp_path: Path) -> None:
    older = [with_candidates("a", function("t.1")), with_candidates("b", function("t.2"))]
    (tmp_path / "older.jsonl").write_bytes(b"".join(map(dump_record, older)))
    assert [r.candidates for r in read_records(tmp_path)] == [r.candidates for r in older]


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ('{"format": "revelio.templates/1", "templates": []}', "candidates.0.template"),
        ('{"format": "revelio.templates/1", "templates": [{"id": "t.1"}]}', "all.jsonl:1: templates.0"),
        ('{"format": "revelio.templates/9", "templates": []}', "all.jsonl:1: format"),
    ],
)
def test_a_template_that_is_not_there_or_damaged_is_named_with_its_line(tmp_path: Path, first: str, message: str) -> None:
    write_records(tmp_path / "all.jsonl", [with_candidates("a", function("t.1"))])
    _, line = (tmp_path / "all.jsonl").read_text().splitlines()
    (tmp_path / "all.jsonl").write_text(f"{first}\n{line}\n")
    with pytest.raises(DatasetError, match=message):
        list(read_records(tmp_path))


def test_the_schema_allows_the_id_of_a_template() -> None:
    assert {"type", "description"} <= json_schema()["$defs"]["Query"]["properties"]["template"]["anyOf"][1].keys()
