"""``revelio eval --gate``: end with 1 where figures fell."""

from __future__ import annotations

from collections.abc import Mapping
from json import loads
from pathlib import Path
from typing import Any

import typer

from revelio.cli.output import complain, say


def read_gate(path: Path | None) -> None:
    """Refuse a file without figures before anything is measured."""
    if path:
        _kept(path)


def check_gate(path: Path | None, found: Mapping[str, Any]) -> None:
    """Compare with the figures in a file; without one nothing is compared."""
    from revelio.training.evaluation.gate import TOLERANCE, falls

    if path is None:
        return
    try:
        lower = falls(_kept(path), found)
    except ValueError as error:
        raise typer.BadParameter(f"{path} {error}") from error
    for fall in lower:
        now = "not measured" if fall.now is None else f"{fall.now:.3f}"
        complain(f"{fall.figure}: {now}, and {fall.before:.3f} in {path}")
    if lower:
        raise typer.Exit(1)
    say(f"no figure is more than {TOLERANCE:g} below {path}")


def _kept(path: Path) -> Mapping[str, Any]:
    try:
        kept = loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(kept, dict) or not kept.keys() & {"splits", "listening"}:
        raise typer.BadParameter(f"{path} has no figures; write them with: revelio eval --json > {path}")
    return kept
