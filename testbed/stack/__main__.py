"""`python -m testbed.stack up|down|status APP [--json]`."""

import dataclasses
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from testbed.errors import StackError
from testbed.images import Mode
from testbed.stack import Status, down, status, up
from testbed.stack.console import shown

App = Annotated[str, typer.Argument(help="The application: shop, forum or travel.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Images = Annotated[Literal["auto", "pull", "make"], typer.Option(help="Pull images, make them here, or see what can be done.")]
Users = Annotated[bool, typer.Option("--users/--no-users", help="Start the load generator and the probe users too.")]

program = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="One application with its backends and users.")


@program.command("up")
def up_command(app: App, images: Images = "auto", users: Users = True, as_json: Json = False) -> None:
    """Bring the stack up and wait until it is healthy."""
    mode: Mode = images
    with _errors(), shown(Console(stderr=True)) as progress:
        state = up(app, images=mode, with_users=users, progress=progress)
    _print(state, as_json)


@program.command("down")
def down_command(app: App, as_json: Json = False) -> None:
    """Take the stack down; nothing of it stays."""
    with _errors(), shown(Console(stderr=True)) as progress:
        down(app, progress=progress)
    if as_json:
        typer.echo(json.dumps({"app": app, "down": True}))


@program.command("status")
def status_command(app: App, as_json: Json = False) -> None:
    """How the stack is; exit 1 unless all of it is up."""
    with _errors():
        state = status(app)
    _print(state, as_json)
    if not state.up:
        raise typer.Exit(1)


@contextmanager
def _errors() -> Iterator[None]:
    """An error of the testbed becomes a line and exit code 1."""
    try:
        yield
    except StackError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error


def _print(state: Status, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({**dataclasses.asdict(state), "up": state.up}, default=str))
        return
    if not state.containers:
        typer.echo(f"{state.project} is down")
        return
    console = Console()
    table = Table("service", "role", "state", "health", "since (UTC)", "address", "answers", box=None)
    answers = {endpoint.service: endpoint for endpoint in state.endpoints}
    for container in state.containers:
        endpoint = answers.get(container.service)
        since = container.since.strftime("%H:%M:%S") if container.since else ""
        reached = ("yes" if endpoint.answers else "no") if endpoint else ""
        table.add_row(
            container.service, container.role, container.state, container.health, since, endpoint.url if endpoint else "", reached
        )
    console.print(table)
    for user in state.users:
        console.print(f"users: {user.name} {'runs' if user.pid else 'does not run'}")


if __name__ == "__main__":
    program(prog_name="python -m testbed.stack")
