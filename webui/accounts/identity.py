"""Who sent a request, and from which address."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from revelio.store import Person


def person_of(request: HTTPConnection) -> Person | None:
    """The signed-in user; None when accounts are off."""
    person: Person | None = getattr(request.state, "person", None)
    return person


def address_of(request: HTTPConnection) -> str:
    """The network address that a request comes from."""
    return request.client.host if request.client else ""
