"""``revelio testbed``: the stack."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from revelio.cli.foreign import testbed_errors
from revelio.cli.output import Json, console, emit, say, table

if TYPE_CHECKING:
    from testbed.stack import Status

App = Annotated[str, typer.Argument(help="The application.")]


class Images(StrEnum):
    """Where images come from."""

    AUTO = "auto"
    PULL = "pull"
    MAKE = "make"


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help="An application with every backend, in Docker.", no_args_is_help=True, rich_markup_mode=None)
    app.command("up")(up)
    app.command("down")(down)
    app.command("status")(status)
    return app


def up(
    app: App = "shop",
    images: Annotated[
        Images, typer.Option("--images", help="Pull images, make them here, or do what can be done.")
    ] = Images.AUTO,
    users: Annotated[bool, typer.Option("--users/--no-users", help="Also start the load generator and the probe users.")] = True,
    json: Json = False,
) -> None:
    """Bring one application up with its backends and users, and wait until all is healthy. What runs already is left alone.

    \b
    Examples:
      revelio testbed up shop
      revelio testbed up shop --images make --no-users
    """
    with testbed_errors():
        from testbed.stack import up as bring_up
        from testbed.stack.console import shown

        with shown(console(stderr=True)) as progress:
            state = bring_up(app, images=images.value, with_users=users, progress=progress)
    _print(state, json)


def down(app: App = "shop", json: Json = False) -> None:
    """Take the application down. Nothing of it stays: containers, network and volumes go.

    \b
    Examples:
      revelio testbed down shop
    """
    with testbed_errors():
        from testbed.stack import down as take_down
        from testbed.stack.console import shown

        with shown(console(stderr=True)) as progress:
            take_down(app, progress=progress)
    if json:
        emit({"app": app, "up": False})
    else:
        say(f"{app} is down")


def status(app: App = "shop", json: Json = False) -> None:
    """Show how the stack is. Exits with 1 unless all of it is up.

    \b
    Examples:
      revelio testbed status shop
      revelio testbed status shop --json | jq '.endpoints[] | select(.answers | not)'
    """
    with testbed_errors():
        from testbed.stack import status as look

        state = look(app)
    _print(state, json)
    if not state.up:
        raise typer.Exit(1)


def _print(state: Status, json: bool) -> None:
    if json:
        from dataclasses import asdict

        emit(asdict(state) | {"up": state.up})
        return
    if not state.containers:
        say(f"{state.project} is down; `revelio testbed up {state.app}` brings it up")
        return
    reached = {e.service: e for e in state.endpoints}
    rows = []
    for one in state.containers:
        at = reached.get(one.service)
        answers = "" if at is None else f"{at.url} {'answers' if at.answers else 'does not answer'}"
        rows.append((one.service, one.role, one.state, one.health, answers))
    table("", ("service", "role", "state", "health", "address"), rows)
    for user in state.users:
        say(f"users: {user.name} {'runs' if user.pid else 'does not run'}")
