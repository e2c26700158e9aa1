"""``revelio bench``."""

from __future__ import annotations

from revelio.cli.output import Json


def bench(json: Json = False) -> None:
    """Measure."""
