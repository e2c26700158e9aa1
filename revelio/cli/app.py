"""Puts the verbs together. What a verb needs is imported when it runs, so that ``--help`` comes at once."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from revelio import __version__

VERBS = (
    "serve",
    "demo",
    "recommend",
    "run",
    "eval",
    "train",
    "simulate",
    "study",
    "learn",
    "doctor",
    "docs",
    "bench",
    "init",
    "slack",
    "mcp",
    "incidents",
    "faults",
    "campaign",
    "testbed",
    "catalog",
    "models",
    "store",
    "users",
    "tokens",
)
"""Each is a module of this package: with a function of the verb's name, or with ``group`` for a verb that has sub-verbs."""
_MODULES = {"eval": "evaluate"}
"""Modules that are not named after their verb, which Python has a function of that name for."""

_ABOUT = """Turns a vague bug report into the few debugging queries most likely to show its root cause.

\b
Start here:
    revelio demo                          the web page with recorded incidents, without any settings
    revelio init                          settings for the backends that are there
    revelio doctor                        what is usable, and what to do about the rest
    revelio serve                         the web page and API on http://127.0.0.1:8000
    revelio incidents list                recorded incidents to try it on
    revelio recommend "checkout takes ages since lunch" --system shop --run
"""


def build(verb: str = "") -> typer.Typer:
    """The command line: of one verb, so that it does not wait for the others to load, or of all where that is none."""
    app = typer.Typer(
        name="revelio",
        help=_ABOUT,
        no_args_is_help=True,
        add_completion=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    for name in (verb,) if verb in VERBS else VERBS:
        module = import_module(f"revelio.cli.{_MODULES.get(name, name)}")
        if hasattr(module, "group"):
            app.add_typer(module.group(), name=name)
        else:
            app.command(name)(getattr(module, _MODULES.get(name, name)))
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"revelio {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass
