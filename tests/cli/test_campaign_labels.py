"""``revelio campaign check-labels``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.cli.made import CommandLine
from tests.fault_injection.dataset.test_freeze import PAUSE, record, store
from tests.fault_injection.dataset.test_label_report import DARK


def test_the_command_marks_what_needs_a_look(revelio: CommandLine, tmp_path: Path) -> None:
    store(tmp_path, *(replace(record(name, "train", "w1"), labels=DARK) for name in "abc"))
    ran = revelio("campaign", "check-labels", "--out", tmp_path)
    assert ran.code == 0
    lines = [line.split() for line in ran.out.splitlines()]
    assert [PAUSE.kind, "t", "3", "0/3", "0%", "never", "0"] in lines
    assert [PAUSE.kind, "0/3", "0%", "low"] in lines
    told = revelio("campaign", "check-labels", "--out", tmp_path, "--json").json
    assert (told["kinds"][0]["low"], told["labels"][0]["never"]) == (True, True)
