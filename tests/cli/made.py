"""Runs the command line in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from revelio.cli import main


@dataclass(frozen=True, slots=True)
class Ran:
    """What one call of the command line came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


class CommandLine:
    """Calls ``revelio`` as its console script would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *words: object) -> Ran:
        self._monkeypatch.setattr("sys.argv", ["revelio", *map(str, words)])
        code = 0
        self._capsys.readouterr()
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)
