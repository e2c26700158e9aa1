"""``revelio doctor`` says what is broken, and ends with 1 then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.made import CommandLine


def findings(ran_json: dict[str, list[dict[str, str]]]) -> dict[str, dict[str, str]]:
    return {one["what"]: one for one in ran_json["findings"]}


@pytest.fixture(autouse=True)
def incidents(revelio: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "incidents").mkdir()


def systems(monkeypatch: pytest.MonkeyPatch, **backends: dict[str, str]) -> None:
    monkeypatch.setenv("REVELIO_SYSTEMS", json.dumps({"ours": {"backends": backends}}))


def test_nothing_set_up_is_not_broken(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REVELIO_SYSTEMS")
    ran = revelio("doctor", "--json")
    assert ran.code == 0
    assert findings(ran.json)["live systems"]["state"] == "absent"


def test_a_misspelt_source_is_broken_and_gets_its_name(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    systems(monkeypatch, promtheus={"url": "http://127.0.0.1:9"})
    ran = revelio("doctor", "--json")
    assert ran.code == 1
    one = findings(ran.json)["ours: promtheus"]
    assert one["state"] == "broken"
    assert "did you mean prometheus?" in one["detail"]
    assert "did you mean prometheus?" in revelio("doctor").out


def test_a_misspelt_product_is_broken_and_gets_its_name(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    systems(monkeypatch, payments={"url": "http://127.0.0.1:9", "product": "lokki"})
    ran = revelio("doctor", "--json")
    assert ran.code == 1
    assert "did you mean loki?" in findings(ran.json)["ours: payments"]["detail"]


def test_a_system_of_which_nothing_can_be_asked_is_broken(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    systems(monkeypatch, prometheus={"url": "http://127.0.0.1:9"})
    ran = revelio("doctor", "--json")
    assert ran.code == 1
    assert findings(ran.json)["ours: prometheus"]["state"] == "broken"
    assert ran.json["systems"]["ours"]["templates"]["usable"] == 0


def test_a_system_without_sources_is_broken(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    systems(monkeypatch)
    ran = revelio("doctor", "--json")
    assert ran.code == 1
    assert "backends.prometheus" in findings(ran.json)["ours"]["remedy"]


def test_a_folder_of_incidents_that_is_not_there_is_broken(revelio: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "incidents").rmdir()
    ran = revelio("doctor", "--json")
    assert ran.code == 1
    assert findings(ran.json)["incidents"]["state"] == "broken"


def test_a_question_says_which_source_is_misspelt(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    systems(monkeypatch, promtheus={"url": "http://127.0.0.1:9"})
    assert "promtheus did not answer" in revelio("recommend", "it is slow", "--system", "ours").out
