"""The list of recorded incidents."""

from __future__ import annotations

from pathlib import Path

import pytest

from revelio.errors import DatasetError, NotFoundError
from revelio.systems.incidents.exchange import write_records
from revelio.systems.incidents.recorded import RecordedIncidents
from tests.systems.incidents.made import record


def test_incidents_are_listed_with_their_report_and_read_by_id(tmp_path: Path) -> None:
    write_records(tmp_path / "a1.jsonl.xz", [record("a1")])
    incidents = RecordedIncidents(tmp_path)
    assert [(i.id, i.system, i.report) for i in incidents.list()] == [("a1", "shop", "my basket hangs")]
    assert incidents.get("a1").results


def test_an_unknown_id_is_answered_with_those_there_are(tmp_path: Path) -> None:
    write_records(tmp_path / "a1.jsonl.xz", [record("a1")])
    with pytest.raises(NotFoundError, match="a1"):
        RecordedIncidents(tmp_path).get("../a1")


def test_a_folder_that_is_not_there_holds_none(tmp_path: Path) -> None:
    assert RecordedIncidents(tmp_path / "none").list() == ()


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text("\n")
    with pytest.raises(DatasetError, match=r"e\.jsonl: holds no incident"):
        RecordedIncidents(tmp_path).get("e")


def test_a_damaged_incident_does_not_hide_the_others(tmp_path: Path) -> None:
    write_records(tmp_path / "a1.jsonl", [record("a1")])
    whole = (tmp_path / "a1.jsonl").read_bytes()
    (tmp_path / "b2.jsonl").write_bytes(whole.replace(b'"a1"', b'"b2"').replace(b'"window":', b'"windo":'))
    incidents = RecordedIncidents(tmp_path)
    assert [i.id for i in incidents.list()] == ["a1", "b2"]
    with pytest.raises(DatasetError, match=r"b2\.jsonl:\d+: evidence\.window"):
        incidents.get("b2")
