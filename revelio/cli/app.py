"""Puts the verbs together. What a verb needs is imported when it runs, so that ``--help`` comes at once."""

from __future__ import annotations

from typing import Annotated

import typer

from revelio import __version__
from revelio.cli import (
    bench,
    campaign,
    catalog,
    demo,
    docs,
    doctor,
    evaluate,
    faults,
    incidents,
    init,
    learn,
    mcp,
    models,
    recommend,
    run,
    serve,
    slack,
    store,
    study,
    testbed,
    tokens,
    train,
    users,
)

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


def build() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        name="revelio",
        help=_ABOUT,
        no_args_is_help=True,
        add_completion=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    for name, verb in (
        ("serve", serve.serve),
        ("demo", demo.demo),
        ("recommend", recommend.recommend),
        ("run", run.run),
        ("eval", evaluate.evaluate),
        ("train", train.train),
        ("study", study.study),
        ("learn", learn.learn),
        ("doctor", doctor.doctor),
        ("docs", docs.docs),
        ("bench", bench.bench),
        ("init", init.init),
        ("slack", slack.slack),
        ("mcp", mcp.mcp),
    ):
        app.command(name)(verb)
    for name, group in (
        ("incidents", incidents.group()),
        ("faults", faults.group()),
        ("campaign", campaign.group()),
        ("testbed", testbed.group()),
        ("catalog", catalog.group()),
        ("models", models.group()),
        ("store", store.group()),
        ("users", users.group()),
        ("tokens", tokens.group()),
    ):
        app.add_typer(group, name=name)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"revelio {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass
