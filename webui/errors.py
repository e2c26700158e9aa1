"""How an error looks: problem details (RFC 9457) to a program, a friendly page to a person."""

from __future__ import annotations

import logging
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from revelio.errors import (
    AccessError,
    ArtifactError,
    CancelledError,
    CatalogError,
    DatasetError,
    InvalidInputError,
    NotFoundError,
    RevelioError,
    SourceError,
    StoreError,
)
from webui.i18n import gettext, gettext_noop
from webui.views.contexts import ErrorPage
from webui.views.templating import render

log = logging.getLogger(__name__)

_STATUS: dict[type[RevelioError], int] = {
    InvalidInputError: 422,
    NotFoundError: 404,
    AccessError: 403,
    SourceError: 502,
    ArtifactError: 503,
    CatalogError: 503,
    DatasetError: 503,
    StoreError: 503,
    CancelledError: 409,
}
_TITLES = {
    401: gettext_noop("Sign-in required"),
    409: gettext_noop("Already in progress"),
    429: gettext_noop("Too many requests"),
    404: gettext_noop("Not found"),
    413: gettext_noop("Too large"),
    422: gettext_noop("Invalid input"),
    403: gettext_noop("Forbidden"),
    500: gettext_noop("Internal error"),
    502: gettext_noop("Data source did not answer"),
    503: gettext_noop("Not ready"),
}


class Problem(BaseModel):
    """An error as RFC 9457 writes it; ``errors`` lists the fields that are wrong."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str = Field(description="What is wrong and what to do")
    errors: list[str] = []


def status_of(error: RevelioError) -> int:
    """The HTTP status of an error that Revelio raised on purpose."""
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)


def problem_response(
    request: Request, status: int, detail: str, errors: list[str] | None = None, headers: dict[str, str] | None = None
) -> Response:
    """An error response in the form that the asker reads; ``detail`` says what is wrong and what to do."""
    title = gettext(_TITLES[status]) if status in _TITLES else HTTPStatus(status).phrase
    if for_program(request):
        problem = Problem(title=title, status=status, detail=_writable(detail), errors=[_writable(e) for e in errors or []])
        return JSONResponse(problem.model_dump(), status, headers, media_type="application/problem+json")
    page = render(request, ErrorPage(status, title, _writable(detail)), status=status)
    page.headers.update(headers or {})
    return page


def for_program(request: Request) -> bool:
    """True for the API and the probes, False for pages."""
    path = request.url.path
    return path.startswith(("/api/v1", "/mcp")) or path in ("/healthz", "/readyz", "/metrics", "/api/openapi.json")


def add_handlers(app: FastAPI) -> None:
    """Every error leaves the application through one of these."""
    app.add_exception_handler(RevelioError, _on_revelio_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_anything)


def _on_revelio_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RevelioError)
    status = status_of(error)
    if status >= 500:
        log.warning("%s %s: %s", request.method, request.url.path, error)
    return problem_response(request, status, str(error))


def _on_invalid(request: Request, error: Exception) -> Response:
    # What was sent is not echoed: it may be huge, or hold characters that cannot be written.
    assert isinstance(error, RequestValidationError)
    fields = [f"{'.'.join(str(p) for p in e['loc'][1:]) or 'body'}: {e['msg']}" for e in error.errors()[:10]]
    return problem_response(request, 422, "; ".join(fields), fields)


def _on_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = str(error.detail)
    if error.status_code == 404 and detail == "Not Found":
        detail = gettext("There is nothing at %(path)s.") % {"path": request.url.path}
    response = problem_response(request, error.status_code, detail)
    response.headers.update(error.headers or {})
    return response


def _on_anything(request: Request, error: Exception) -> Response:
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem_response(request, 500, gettext("Internal error in Revelio; see the server's log."))


def _writable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
