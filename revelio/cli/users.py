"""``revelio users``: user accounts."""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from revelio.cli.engine import opened_store
from revelio.cli.output import Json, emit, say, table

if TYPE_CHECKING:
    from revelio.store import Actor

RoleName = Literal["viewer", "responder", "admin"]
Name = Annotated[str, typer.Argument(help="The user's name.")]
FromStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from the first line of standard input instead of asking.")
]


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help="Manage user accounts.", no_args_is_help=True, rich_markup_mode=None)
    app.command("add")(add)
    app.command("list")(show)
    app.command("role")(role)
    app.command("password")(password)
    app.command("remove")(remove)
    return app


def add(
    name: Name,
    role: Annotated[
        RoleName, typer.Option("--role", help="viewer: read; responder: ask, run, give feedback; admin: manage users.")
    ] = "responder",
    password_stdin: FromStdin = False,
    json: Json = False,
) -> None:
    """Add a user with a password of at least 12 characters.

    \b
    Examples:
      revelio users add robin --role admin
      pass show revelio/robin | revelio users add robin --password-stdin
    """
    with opened_store() as store:
        user = store.accounts.add(name, role, _new_password(password_stdin), operator())
    if json:
        emit(user)
    else:
        say(f"{user.name} may sign in, as {user.role}")


def show(json: Json = False) -> None:
    """List the users.

    \b
    Examples:
      revelio users list
      revelio users list --json | jq -r '.[] | select(.role == "admin") | .name'
    """
    with opened_store() as store:
        users = store.accounts.list()
    if json:
        emit(users)
        return
    rows = [(u.name, u.role, "password" if u.has_password else "identity provider", moment(u.created_at)) for u in users]
    table("", ("name", "role", "signs in by", "since"), rows)


def role(name: Name, role: Annotated[RoleName, typer.Argument(help="The new role.")], json: Json = False) -> None:
    """Change a user's role, effective at once.

    \b
    Examples:
      revelio users role robin viewer
    """
    with opened_store() as store:
        user = store.accounts.set_role(name, role, operator())
    if json:
        emit(user)
    else:
        say(f"{user.name} is a {user.role} now")


def password(name: Name, password_stdin: FromStdin = False, json: Json = False) -> None:
    """Set a new password, sign the user out everywhere and end their tokens.

    \b
    Examples:
      revelio users password robin
    """
    with opened_store() as store:
        store.accounts.get(name)
        store.accounts.set_password(name, _new_password(password_stdin), operator())
        user = store.accounts.get(name)
    if json:
        emit(user)
    else:
        say(f"{name} has a new password")


def remove(name: Name, json: Json = False) -> None:
    """Remove a user with all sessions and tokens. Their feedback stays.

    \b
    Examples:
      revelio users remove robin
    """
    with opened_store() as store:
        store.accounts.remove(name, operator())
    if json:
        emit({"removed": name})
    else:
        say(f"{name} is removed")


def operator() -> Actor:
    """The operating-system user, for the audit trail."""
    from revelio.store import Actor

    try:
        return Actor(f"{getpass.getuser()} (command line)")
    except (KeyError, OSError):
        return Actor("command line")


def moment(at: float) -> str:
    """A time for people, in UTC."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def _new_password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise typer.BadParameter("there is no terminal to ask for a password on; pipe it in and give --password-stdin")
    return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
