"""One dataclass for each page about accounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from revelio.store import Role
from revelio.store.accounts import ROLES, User
from revelio.store.audit import AuditEntry
from revelio.store.credentials import Token
from revelio.store.passwords import LONGEST, SHORTEST
from webui.views.contexts import Page


@dataclass(frozen=True, slots=True)
class SignInPage(Page):
    """Name and password; ``onward`` is where to go afterwards, ``provider`` what the other way in is called ("": none)."""

    template: ClassVar[str] = "sign_in.html"
    here: ClassVar[str] = "sign-in"
    name: str = ""
    onward: str = ""
    provider: str = ""
    refused: str = ""


@dataclass(frozen=True, slots=True)
class AccountPage(Page):
    """One's own account. ``fresh`` is the secret of a token that was made just now."""

    template: ClassVar[str] = "account.html"
    here: ClassVar[str] = "account"
    name: str
    role: Role
    has_password: bool
    tokens: tuple[Token, ...]
    roles: tuple[Role, ...]
    done: str = ""
    refused: str = ""
    fresh: str = ""
    shortest: int = SHORTEST
    longest: int = LONGEST


@dataclass(frozen=True, slots=True)
class PeoplePage(Page):
    """All users, for an admin. ``typed`` is the rejected name."""

    template: ClassVar[str] = "people.html"
    here: ClassVar[str] = "people"
    me: str
    users: tuple[User, ...]
    done: str = ""
    refused: str = ""
    typed: str = ""
    roles: tuple[Role, ...] = ROLES
    shortest: int = SHORTEST
    longest: int = LONGEST


@dataclass(frozen=True, slots=True)
class AuditPage(Page):
    """The audit trail; ``older`` is the id after which the next page begins."""

    template: ClassVar[str] = "audit.html"
    here: ClassVar[str] = "audit"
    entries: tuple[AuditEntry, ...]
    older: int | None
