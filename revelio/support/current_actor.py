"""Who sent the current request, for audit and feedback records, on the same thread or one started for the request."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: a name, and the network address that they act from ("" for the command line)."""

    name: str
    address: str = ""


_ANONYMOUS = Actor("")
_actor: ContextVar[Actor] = ContextVar("revelio_actor", default=_ANONYMOUS)


def current_actor() -> Actor:
    """The sender of the request in progress; an actor without a name when accounts are off."""
    return _actor.get()


def set_current_actor(name: str, address: str) -> None:
    """For the rest of this request; ``name`` is "" when accounts are off."""
    _actor.set(Actor(name, address))
