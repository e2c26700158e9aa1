"""``revelio simulate`` prints incidents for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from revelio.cli import main
from revelio.systems.incidents.exchange import parse_record


def run(*words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr("sys.argv", ["revelio", "simulate", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    return capsys.readouterr().out


def test_each_incident_is_printed_with_its_report_its_cause_and_what_deviates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = run("--show", "2", "--seed", "3", monkeypatch=monkeypatch, capsys=capsys)
    assert said.count("report:") == said.count("cause:") == 2
    assert "items deviate" in said


def test_json_is_the_exchange_format(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    said = run("--show", "1", "--start", "4", "--json", monkeypatch=monkeypatch, capsys=capsys)
    record = parse_record(said.strip(), "here")
    assert record.candidates
    assert record.id.endswith("-4")


def test_they_are_compared_with_recorded_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from revelio.systems.incidents.exchange import write_records
    from revelio.training.simulation import simulated

    write_records(tmp_path / "incidents" / "a.jsonl", [i.record for i in simulated(9, 2)])
    found = json.loads(run("--compare", "2", "--dataset", str(tmp_path), "--json", monkeypatch=monkeypatch, capsys=capsys))
    assert found["a_minute"] > 0
    assert {d["name"] for d in found["simulated"]} >= {"candidates", "items at 4 sigma"}
    assert {d["name"] for d in found["recorded"]} >= {"candidates", "items at 4 sigma"}
