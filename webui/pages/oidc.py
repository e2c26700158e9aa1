"""The way to the identity provider and back."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from revelio.errors import AccessError, NotFoundError, RevelioError
from revelio.service import Service
from webui.accounts.identity import address_of
from webui.accounts.oidc import Attempt, Provider
from webui.deps import ServiceDep
from webui.i18n import gettext
from webui.pages.accounts import onward_of, start_session
from webui.views.account_contexts import SignInPage
from webui.views.templating import render

_MINUTES = 10
oidc_pages = APIRouter(include_in_schema=False)


@oidc_pages.get("/sign-in/provider")
def leave(request: Request, service: ServiceDep, next: str = "") -> Response:  # noqa: A002
    """To the provider, with what must come back in a cookie."""
    try:
        address, attempt = _provider(service).start(_back(request), onward_of(next))
    except AccessError as error:
        return _refused(request, service, error)
    response = RedirectResponse(address, 303)
    secure = request.url.scheme == "https"
    response.set_cookie(_cookie(request), attempt.dump(), max_age=_MINUTES * 60, secure=secure, httponly=True, samesite="lax")
    return response


@oidc_pages.get("/sign-in/back")
def come_back(request: Request, service: ServiceDep) -> Response:
    """Return from the provider: start a session, and add the user at the first sign-in."""
    try:
        attempt = Attempt.load(request.cookies.get(_cookie(request), ""))
        vouched = _provider(service).finish(str(request.url), _back(request), attempt)
        oidc = service.settings.oidc
        assert oidc is not None
        person = service.store.accounts.by_subject(vouched.subject, vouched.name, oidc.role, address_of(request))
    except NotFoundError:
        raise
    except RevelioError as error:
        return _refused(request, service, error)
    response = start_session(request, service, person, attempt.onward)
    response.delete_cookie(_cookie(request), secure=request.url.scheme == "https", httponly=True, samesite="lax")
    return response


def _provider(service: Service) -> Provider:
    settings = service.settings
    if settings.oidc is None or not settings.accounts:
        raise NotFoundError(gettext("no identity provider is set up here; see `revelio docs accounts`"))
    return Provider(settings.oidc)


def _refused(request: Request, service: Service, error: RevelioError) -> Response:
    oidc = service.settings.oidc
    return render(request, SignInPage(provider=oidc.title if oidc else "", refused=str(error)), status=403)


def _back(request: Request) -> str:
    return str(request.url_for("come_back"))


def _cookie(request: Request) -> str:
    return "__Host-revelio-attempt" if request.url.scheme == "https" else "revelio-attempt"
