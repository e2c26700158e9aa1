"""``revelio tokens``: what programs show to be let in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from revelio.cli.engine import opened_store
from revelio.cli.output import Json, emit, say, table
from revelio.cli.users import RoleName, moment, operator


def group() -> typer.Typer:
    """The verb with its sub-verbs."""
    app = typer.Typer(help="Tokens with which programs act for a user.", no_args_is_help=True, rich_markup_mode=None)
    app.command("create")(create)
    app.command("list")(show)
    app.command("revoke")(revoke)
    return app


def create(
    owner: Annotated[str, typer.Argument(help="The user for whom it acts.")],
    name: Annotated[str, typer.Argument(help="What uses it.")],
    role: Annotated[RoleName | None, typer.Option("--role", help="At most the owner's, which it is when not given.")] = None,
    days: Annotated[float | None, typer.Option("--days", help="How long it lasts; for ever when not given.")] = None,
    json: Json = False,
) -> None:
    """Make a token. It is printed this once: only a digest of it is kept.

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
    """List the tokens; those that have run out are among them.

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
    """Make a token worthless, at once.

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
