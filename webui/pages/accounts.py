"""Account pages: signing in and out, the user's own account, and, for admins, all users and the audit trail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from revelio.errors import AccessError, InvalidInputError, NotFoundError, RevelioError
from revelio.service import Service
from revelio.store import Person, Role
from revelio.store.accounts import ROLES
from revelio.store.credentials import SESSION_S
from revelio.support.current_actor import current_actor
from webui.accounts.identity import address_of
from webui.accounts.middleware import cookie_name
from webui.accounts.rate_limit import SignInRateLimit
from webui.api.accounts import Caller
from webui.deps import ServiceDep
from webui.errors import problem_response, status_of
from webui.forms import read_form
from webui.i18n import gettext
from webui.views.account_contexts import AccountPage, AuditPage, PeoplePage, SignInPage
from webui.views.filters import seconds
from webui.views.templating import render

_AUDIT_PAGE = 50
account_pages = APIRouter(include_in_schema=False)


@account_pages.get("/sign-in")
def sign_in_page(request: Request, service: ServiceDep, next: str = "") -> Response:  # noqa: A002
    """Name and password."""
    if not service.settings.accounts:
        return RedirectResponse("/", 303)
    return render(request, SignInPage(onward=onward_of(next), provider=_provider(service)))


@account_pages.post("/sign-in")
async def sign_in(request: Request, service: ServiceDep) -> Response:
    """Start a session with name and password."""
    if not service.settings.accounts:
        raise NotFoundError(gettext("accounts are off: there is no sign-in"))
    form = await read_form(request)
    name, onward = form.get("name", "").strip(), onward_of(form.get("next", ""))
    address = address_of(request)
    too_often = _too_often(request, name)
    if too_often is not None:
        return too_often

    def check() -> Response:
        try:
            person = service.store.accounts.check(name, form.get("password", ""), address)
        except AccessError as error:
            page = SignInPage(name, onward, _provider(service), str(error))
            return render(request, page, status=401)
        return start_session(request, service, person, onward)

    return await run_in_threadpool(check)


def _too_often(request: Request, name: str) -> Response | None:
    """The refusal of another guess at a user's password; None where it may be made."""
    limit: SignInRateLimit = request.app.state.sign_in_rate_limit
    wait = limit.wait(name, address_of(request))
    if not wait:
        return None
    words = gettext("Too many attempts at this password. Wait %(time)s and try again.") % {"time": seconds(wait)}
    return problem_response(request, 429, words, headers={"Retry-After": str(wait)})


@account_pages.post("/sign-out")
def sign_out(request: Request, service: ServiceDep, caller: Caller) -> Response:
    """The session ends, here and in the database."""
    name = cookie_name(request)
    service.store.sessions.close(request.cookies.get(name, ""), current_actor())
    response = RedirectResponse("/sign-in", 303)
    response.delete_cookie(name, secure=request.url.scheme == "https", httponly=True, samesite="lax")
    return response


@account_pages.get("/account")
def account(request: Request, service: ServiceDep, caller: Caller) -> Response:
    """One's own password and tokens."""
    return render(request, _account(service, caller))


@account_pages.post("/account/password")
async def change_password(request: Request, service: ServiceDep, caller: Caller) -> Response:
    """Change the password, given the old one; ends all other sessions and all tokens."""
    form = await read_form(request)
    too_often = _too_often(request, caller.name)
    if too_often is not None:
        return too_often

    def change() -> Response:
        service.store.accounts.check(caller.name, form.get("old", ""), address_of(request))
        service.store.accounts.set_password(caller.name, form.get("new", ""), current_actor())
        return start_session(request, service, caller, "/account")

    return await _tried(request, change, lambda words: _account(service, caller, refused=words))


@account_pages.post("/account/tokens")
async def create_token(request: Request, service: ServiceDep, caller: Caller) -> Response:
    """A token, shown this once."""
    form = await read_form(request)

    def create() -> Response:
        role = _role(form.get("role", ""), _roles_of(caller))
        days = form.get("days", "").strip()
        if days and not days.isdecimal():
            raise InvalidInputError(
                gettext("the days are not a whole number; leave them empty for a token that does not run out")
            )
        name = form.get("name", "").strip()
        token, secret = service.store.tokens.create(
            caller.name, name, role, current_actor(), days=float(days[:9]) if days else None, through=caller
        )
        done = gettext("%(name)s has its token.") % {"name": token.name}
        return render(request, _account(service, caller, done=done, fresh=secret))

    return await _tried(request, create, lambda words: _account(service, caller, refused=words))


@account_pages.post("/account/tokens/revoke")
async def revoke_token(request: Request, service: ServiceDep, caller: Caller) -> Response:
    """One of one's own tokens is worth nothing any more."""
    form = await read_form(request)

    def revoke() -> Response:
        service.store.tokens.revoke(form.get("id", ""), current_actor(), owner=caller.name)
        return RedirectResponse("/account", 303)

    return await _tried(request, revoke, lambda words: _account(service, caller, refused=words))


@account_pages.get("/people")
def people(request: Request, service: ServiceDep, caller: Caller) -> Response:
    """All users."""
    return render(request, PeoplePage(caller.name, service.store.accounts.list()))


@account_pages.post("/people")
async def add_person(request: Request, service: ServiceDep, caller: Caller) -> Response:
    """A new user."""
    form = await read_form(request)
    name = form.get("name", "").strip()

    def add() -> Response:
        service.store.accounts.add(name, _role(form.get("role", ""), ROLES), form.get("password", ""), current_actor())
        return RedirectResponse("/people", 303)

    return await _tried(
        request, add, lambda words: PeoplePage(caller.name, service.store.accounts.list(), refused=words, typed=name)
    )


@account_pages.post("/people/role")
async def change_role(request: Request, service: ServiceDep, caller: Caller) -> Response:
    """Change a user's role."""
    form = await read_form(request)

    def change() -> Response:
        service.store.accounts.set_role(form.get("name", ""), _role(form.get("role", ""), ROLES), current_actor())
        return RedirectResponse("/people", 303)

    return await _tried(request, change, lambda words: PeoplePage(caller.name, service.store.accounts.list(), refused=words))


@account_pages.post("/people/remove")
async def remove_person(request: Request, service: ServiceDep, caller: Caller) -> Response:
    """Remove a user."""
    form = await read_form(request)

    def remove() -> Response:
        service.store.accounts.remove(form.get("name", ""), current_actor())
        return RedirectResponse("/people", 303)

    return await _tried(request, remove, lambda words: PeoplePage(caller.name, service.store.accounts.list(), refused=words))


@account_pages.get("/audit")
def audit(
    request: Request, service: ServiceDep, caller: Caller, past: Annotated[int | None, Query(ge=0, lt=2**31)] = None
) -> Response:
    """Who did what, from where."""
    entries = service.store.audit.list(_AUDIT_PAGE + 1, past)
    shown = entries[:_AUDIT_PAGE]
    return render(request, AuditPage(shown, shown[-1].id if len(entries) > _AUDIT_PAGE else None))


def start_session(request: Request, service: Service, person: Person, onward: str) -> Response:
    """On to a page, with the cookie of a new session."""
    response = RedirectResponse(onward or "/", 303)
    response.set_cookie(
        cookie_name(request),
        service.store.sessions.open(person),
        max_age=SESSION_S,
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
    return response


async def _tried(request: Request, act: Callable[[], Response], page: Callable[[str], AccountPage | PeoplePage]) -> Response:
    """What ``act`` responds, or the page again with what went wrong."""

    def run() -> Response:
        try:
            return act()
        except RevelioError as error:
            return render(request, page(str(error)), status=status_of(error))

    return await run_in_threadpool(run)


def _account(service: Service, caller: Person, *, done: str = "", refused: str = "", fresh: str = "") -> AccountPage:
    user = service.store.accounts.get(caller.name)
    tokens = service.store.tokens.list(caller.name)
    return AccountPage(caller.name, caller.role, user.has_password, tokens, _roles_of(caller), done, refused, fresh)


def _roles_of(caller: Person) -> tuple[Role, ...]:
    return ROLES[: ROLES.index(caller.role) + 1]


def _role(said: str, there: tuple[Role, ...]) -> Role:
    found = next((role for role in there if role == said), None)
    if found is None:
        raise InvalidInputError(
            gettext("%(role)r is no role that you can give; there are: %(roles)s")
            % {"role": said[:40], "roles": ", ".join(there)}
        )
    return found


def _provider(service: Service) -> str:
    oidc = service.settings.oidc
    return oidc.title if oidc else ""


def onward_of(address: str) -> str:
    """An address on this server, or ""."""
    here = address.isprintable() and address.startswith("/") and not address.startswith("//") and "\\" not in address
    return address if here else ""
