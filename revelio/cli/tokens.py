"""``revelio tokens``: API tokens."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from revelio.cli.engine import opened_store
from revelio.cli.output import Json, emit, say, table
from revelio.cli.users import RoleName, moment, operator


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help="Manage API tokens.", no_args_is_help=True, rich_markup_mode=None)
    app.command("create")(create)
    app.command("list")(show)
    app.command("revoke")(revoke)
    return app


def create(
    owner: Annotated[str, typer.Argument(help="The user that the token acts for.")],
    name: Annotated[str, typer.Argument(help="A name for the program that uses it.")],
    role: Annotated[
        RoleName | None, typer.Option("--role", help="Role of the token, at most the owner's (default: the owner's).")
    ] = None,
    days: Annotated[float | None, typer.Option("--days", help="Days until it expires (default: never).")] = None,
    json: Json = False,
) -> None:
    """Create a token. It is printed only once: the store keeps a digest.

    \b
    Examples:
      revelio tokens create robin "alert relay" --role responder --days 90
      curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8000/api/v1/me
    """
    with opened_store() as store:
        allowed = role or store.accounts.get(owner).role
        token, secret = store.tokens.create(owner, name, allowed, operator(), days=days)
    if json:
        emit(asdict(token) | {"token": secret})
    else:
        say(f"{token.name} has a token as {token.role}, id {token.id}; it cannot be shown again:")
        typer.echo(secret)


def show(owner: Annotated[str | None, typer.Option("--owner", help="Only this user's.")] = None, json: Json = False) -> None:
    """List tokens, including expired ones.

    \b
    Examples:
      revelio tokens list
      revelio tokens list --owner robin
    """
    with opened_store() as store:
        tokens = store.tokens.list(owner)
    if json:
        emit(tokens)
        return
    rows = [
        (
            t.id,
            t.owner,
            t.name,
            t.role,
            moment(t.expires_at) if t.expires_at else "never",
            moment(t.last_used_at) if t.last_used_at else "not yet",
        )
        for t in tokens
    ]
    table("", ("id", "owner", "for", "role", "runs out", "last used"), rows)


def revoke(token_id: Annotated[str, typer.Argument(help="Its id, from `revelio tokens list`.")], json: Json = False) -> None:
    """Revoke a token at once.

    \b
    Examples:
      revelio tokens revoke 3f9a0c12be77
    """
    with opened_store() as store:
        store.tokens.revoke(token_id, operator())
    if json:
        emit({"revoked": token_id})
    else:
        say(f"token {token_id} is revoked")
