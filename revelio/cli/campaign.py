"""``revelio campaign``."""

from __future__ import annotations

import typer


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    return typer.Typer(help="campaign", no_args_is_help=True, rich_markup_mode=None)
