"""Who a request comes from, for whatever keeps a record of it, on the same thread or one started for the request."""

from __future__ import annotations

from contextvars import ContextVar

from starlette.requests import HTTPConnection

from revelio.store import Actor, Person

_NOBODY = Actor("")
_actor: ContextVar[Actor] = ContextVar("revelio_actor", default=_NOBODY)


def acting() -> Actor:
    """Whoever sent the request that is worked on; a nameless one where nobody has to sign in."""
    return _actor.get()


def set_acting(person: Person | None, address: str) -> None:
    """For the rest of this request."""
    _actor.set(Actor(person.name if person else "", address))


def person_of(request: HTTPConnection) -> Person | None:
    """Whoever has signed in; None where nobody has to."""
    person: Person | None = getattr(request.state, "person", None)
    return person


def address_of(request: HTTPConnection) -> str:
    """The network address that a request comes from."""
    return request.client.host if request.client else ""
