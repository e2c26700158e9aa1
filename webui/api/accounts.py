"""Users, tokens and the audit trail, for programs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from revelio.errors import InvalidInputError, NotFoundError
from revelio.store import Person, Role, allows
from revelio.store.credentials import Token
from revelio.support.current_actor import current_actor
from webui.accounts.identity import person_of
from webui.api.account_schemas import (
    AuditView,
    MeView,
    NewTokenView,
    TokenRequest,
    TokenView,
    UserChange,
    UserRequest,
    UserView,
)
from webui.api.paging import LINK, Cursor, Limit, cut, decode, encode, link_next
from webui.api.responses import error_responses
from webui.deps import ServiceDep


async def signed_in(request: Request) -> Person:
    """The caller; ``NotFoundError`` where accounts are off."""
    person = person_of(request)
    if person is None:
        raise NotFoundError("accounts are off here; `accounts = true` in revelio.toml turns them on, see `revelio docs accounts`")
    return person


Caller = Annotated[Person, Depends(signed_in)]
accounts_api = APIRouter(prefix="/api/v1", tags=["accounts"], dependencies=[Depends(signed_in)])


@accounts_api.get("/me", operation_id="me", response_description="The caller", responses=error_responses(404))
def me(caller: Caller) -> MeView:
    """The authenticated caller."""
    return MeView(name=caller.name, role=caller.role)


@accounts_api.get("/tokens", operation_id="list_tokens", response_description="All of them", responses=error_responses(404))
def list_tokens(service: ServiceDep, caller: Caller) -> list[TokenView]:
    """The caller's tokens, oldest first; an admin sees all tokens."""
    found = service.store.tokens.list(None if caller.role == "admin" else caller.name)
    return [TokenView.model_validate(t, from_attributes=True) for t in found]


@accounts_api.post(
    "/tokens",
    operation_id="create_token",
    status_code=201,
    response_description="Created",
    responses=error_responses(400, 404, 413, 422),
)
def create_token(wanted: TokenRequest, service: ServiceDep, caller: Caller) -> NewTokenView:
    """Create a token. Only this reply contains the secret, so it is never replayed.

    One that is created with a token expires and is revoked with that token.
    """
    role = wanted.role or caller.role
    token, secret = service.store.tokens.create(
        caller.name, wanted.name, _at_most(role, caller), current_actor(), days=wanted.days, through=caller
    )
    return NewTokenView(**_fields(token), token=secret)


@accounts_api.delete(
    "/tokens/{token_id}",
    operation_id="revoke_token",
    status_code=204,
    response_description="Revoked",
    responses=error_responses(404, 422),
)
def revoke_token(token_id: str, service: ServiceDep, caller: Caller) -> None:
    """Revoke a token at once. An admin may revoke any token."""
    service.store.tokens.revoke(token_id, current_actor(), owner=None if caller.role == "admin" else caller.name)


@accounts_api.get("/users", operation_id="list_users", response_description="All of them", responses=error_responses(404))
def list_users(service: ServiceDep) -> list[UserView]:
    """All users, by name."""
    return [UserView.model_validate(u, from_attributes=True) for u in service.store.accounts.list()]


@accounts_api.post(
    "/users",
    operation_id="add_user",
    status_code=201,
    response_description="Added",
    responses=error_responses(400, 404, 413, 422),
)
def add_user(wanted: UserRequest, service: ServiceDep) -> UserView:
    """Add a user."""
    user = service.store.accounts.add(wanted.name, wanted.role, wanted.password, current_actor())
    return UserView.model_validate(user, from_attributes=True)


@accounts_api.patch(
    "/users/{name}", operation_id="change_user", response_description="Changed", responses=error_responses(400, 404, 413, 422)
)
def change_user(name: str, wanted: UserChange, service: ServiceDep) -> UserView:
    """Change a user's role, effective at once, or password, which ends all their sessions and tokens."""
    accounts = service.store.accounts
    if wanted.role is not None:
        accounts.set_role(name, wanted.role, current_actor())
    if wanted.password is not None:
        accounts.set_password(name, wanted.password, current_actor())
    return UserView.model_validate(accounts.get(name), from_attributes=True)


@accounts_api.delete(
    "/users/{name}",
    operation_id="remove_user",
    status_code=204,
    response_description="Revoked",
    responses=error_responses(404, 422),
)
def remove_user(name: str, service: ServiceDep) -> None:
    """Remove a user with all tokens. Their feedback stays."""
    service.store.accounts.remove(name, current_actor())


@accounts_api.get(
    "/audit", operation_id="list_audit", response_description="One page of it", responses=error_responses(404, 422) | {200: LINK}
)
def list_audit(
    request: Request,
    response: Response,
    service: ServiceDep,
    limit: Limit = 50,
    cursor: Cursor = None,
    action: Annotated[
        str | None, Query(max_length=40, pattern="^[a-z -]*$", description="Only this, such as `signed in`")
    ] = None,
) -> list[AuditView]:
    """Who did what, from where, newest first."""
    place = decode(cursor, int)
    shown, more = cut(service.store.audit.list(limit + 1, place[0] if place else None, action), limit)
    if more:
        link_next(request, response, encode(shown[-1].id))
    return [AuditView.model_validate(entry, from_attributes=True) for entry in shown]


def _at_most(role: Role, caller: Person) -> Role:
    """``role``, unless the caller (whose token may be worth less than their account) has less than that."""

    if not allows(caller.role, role):
        raise InvalidInputError(f"a {caller.role} cannot make a token that is {role}")
    return role


def _fields(token: Token) -> dict[str, Any]:
    return TokenView.model_validate(token, from_attributes=True).model_dump()
