"""``revelio campaign templates``."""

from __future__ import annotations

from pathlib import Path

from revelio.systems.incidents.exchange import FaultRecord, Label, Record, write_records
from revelio.types import Evidence, Window
from tests.cli.made import CommandLine


def test_templates_tells_in_which_incidents_each_was_proven(revelio: CommandLine, tmp_path: Path) -> None:
    record = Record(
        id="a",
        system="shop",
        opened_at=90.0,
        evidence=Evidence(Window(60.0, 90.0), Window(0.0, 60.0)),
        labels=(Label("containers.state", (("container", "cart"),), 3), Label("containers.health", (), 2, proven=False)),
        fault=FaultRecord("container_pause", "component", "cart", "whole"),
    )
    write_records(tmp_path / "incidents" / "a.jsonl.xz", [record])
    ran = revelio("campaign", "templates", "--out", tmp_path)
    assert ran.code == 0
    state = next(line for line in ran.out.splitlines() if line.startswith("containers.state "))
    assert state.split() == ["containers.state", "1/1", "0/0", "container_pause"]
    assert "1 accepted by incidents, but never proven: containers.health" in ran.err
    told = {t["template"]: t for t in revelio("campaign", "templates", "--out", tmp_path, "--json").json}
    assert told["containers.state"]["proven"] == 1
    assert told["redis.memory"]["proven"] == 0


def test_templates_of_nothing_says_what_to_do(revelio: CommandLine, tmp_path: Path) -> None:
    ran = revelio("campaign", "templates", "--out", tmp_path / "nothing")
    assert ran.code == 1
    assert "run a campaign first" in ran.err
