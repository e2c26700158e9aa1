"""Browser sessions and API tokens. Only digests are stored."""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass
from typing import cast

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from revelio.errors import InvalidInputError, NotFoundError
from revelio.store.accounts import ROLES, Person, Role, allows, changing
from revelio.store.audit import audit_row
from revelio.store.engine import Database, as_store_error
from revelio.store.tables import SessionRow, TokenRow, UserRow
from revelio.support.current_actor import Actor

SESSION_S = 12 * 3600
"""How long a browser stays signed in: one shift."""
_PREFIX = "rvl_"
_NOTED_S = 60.0
"""Resolution of a token's last use, in seconds, so that most requests write nothing."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret; times in Unix seconds. It may do what ``role`` allows, as long as its owner may."""

    id: str
    owner: str
    name: str
    role: Role
    created_at: float
    expires_at: float | None
    last_used_at: float | None


class Sessions:
    """Browsers that are signed in."""

    def __init__(self, database: Database) -> None:
        """On an open database."""
        self._database = database

    def open(self, person: Person) -> str:
        """A new session's secret, for the cookie. Sessions that have ended are cleared away."""
        secret, now = secrets.token_urlsafe(32), time.time()
        with changing(self._database) as session:
            session.execute(delete(SessionRow).where(SessionRow.expires_at < now))
            session.add(SessionRow(digest=_digest(secret), user_id=person.user_id, created_at=now, expires_at=now + SESSION_S))
        return secret

    def find(self, secret: str) -> Person | None:
        """Whose session it is, with the role that they have now; None when it has ended."""
        wanted = select(UserRow).join(SessionRow, SessionRow.user_id == UserRow.id)
        wanted = wanted.where(SessionRow.digest == _digest(secret), SessionRow.expires_at > time.time())
        with as_store_error("read the sessions"), Session(self._database.engine) as session:
            user = session.scalar(wanted)
            return Person(user.id, user.name, cast(Role, user.role), "session") if user else None

    def close(self, secret: str, by: Actor) -> None:
        """Sign out."""
        with changing(self._database) as session:
            session.execute(delete(SessionRow).where(SessionRow.digest == _digest(secret)))
            session.add(audit_row(by, "signed out"))


class Tokens:
    """Programs that may act for a user."""

    def __init__(self, database: Database) -> None:
        """On an open database."""
        self._database = database

    def create(
        self, owner: str, name: str, role: Role, by: Actor, *, days: float | None = None, through: Person | None = None
    ) -> tuple[Token, str]:
        """A new token and its secret, which cannot be had again.

        ``through`` is the caller who asks for it. A token that a token creates ends with it at the latest: when that expires
        or is revoked.

        ``InvalidInputError`` when ``role`` is more than the owner's, or the token would outlive the one that creates it;
        ``NotFoundError`` when there is no such owner.
        """
        if not 1 <= len(name.strip()) <= 100 or not name.isprintable():
            raise InvalidInputError("a token's name has 1 to 100 printable characters; name it after what uses it")
        if days is not None and not 0 < days <= 3660:
            raise InvalidInputError("a token lasts more than 0 and at most 3,660 days, or for ever when none are given")
        secret, now = _PREFIX + secrets.token_urlsafe(32), time.time()
        expires_at = now + days * 86400 if days is not None else None
        latest = through.expires_at if through else None
        if latest is not None and expires_at is not None and expires_at > latest:
            left = (latest - now) / 86400
            raise InvalidInputError(f"a token makes no token that outlives it: give at most {left:.3g} days, or none")
        row = TokenRow(
            id=secrets.token_hex(6),
            name=name.strip(),
            role=role,
            digest=_digest(secret),
            created_at=now,
            expires_at=latest if expires_at is None else expires_at,
            parent_id=through.token_id if through else None,
        )
        with changing(self._database) as session:
            user = session.scalar(select(UserRow).where(UserRow.name == owner)) if "\x00" not in owner else None
            if user is None:
                raise NotFoundError(f"there is no user {owner!r}; `revelio users list` shows those there are")
            if not allows(cast(Role, user.role), role):
                raise InvalidInputError(f"{owner} is a {user.role}: a token of theirs cannot be {role}")
            if row.parent_id is not None and session.get(TokenRow, row.parent_id) is None:
                raise InvalidInputError("the token that asks for this was revoked")
            row.user_id = user.id
            session.add(row)
            session.add(audit_row(by, "token created", f"{owner}: {row.name}", f"{row.id}, {role}"))
        return _token(row, owner), secret

    def list(self, owner: str | None = None) -> tuple[Token, ...]:
        """All tokens, or one owner's, oldest first, including expired ones."""
        wanted = select(TokenRow, UserRow.name).join(UserRow, UserRow.id == TokenRow.user_id).order_by(TokenRow.created_at)
        if owner is not None:
            wanted = wanted.where(UserRow.name == owner)
        with as_store_error("read the tokens"), Session(self._database.engine) as session:
            return tuple(_token(row, name) for row, name in session.execute(wanted))

    def revoke(self, token_id: str, by: Actor, *, owner: str | None = None) -> None:
        """No longer valid from now on, nor are the tokens that it created; ``NotFoundError`` when there is none of that id (of
        that owner).
        """
        with changing(self._database) as session:
            wanted = select(TokenRow, UserRow.name).join(UserRow, UserRow.id == TokenRow.user_id)
            found = session.execute(wanted.where(TokenRow.id == token_id)).first() if token_id.isalnum() else None
            if found is None or owner not in (None, found[1]):
                raise NotFoundError(f"there is no token {token_id!r}; `revelio tokens list` shows those there are")
            parents = [token_id]
            while parents:
                session.execute(delete(TokenRow).where(TokenRow.id.in_(parents)))
                parents = list(session.scalars(select(TokenRow.id).where(TokenRow.parent_id.in_(parents))))
            session.add(audit_row(by, "token revoked", f"{found[1]}: {found[0].name}", token_id))

    def find(self, secret: str) -> Person | None:
        """Whom a token speaks for, with the lesser of its role and theirs; None when it is unknown or has run out."""
        now = time.time()
        wanted = select(TokenRow, UserRow).join(UserRow, UserRow.id == TokenRow.user_id)
        with as_store_error("read the tokens"), Session(self._database.engine) as session:
            found = session.execute(wanted.where(TokenRow.digest == _digest(secret))).first()
            if found is None:
                return None
            token, user = found
        if token.expires_at is not None and token.expires_at <= now:
            return None
        if (token.last_used_at or 0.0) < now - _NOTED_S:
            with as_store_error("note the use of a token"), self._database.quick.begin() as connection:
                connection.execute(update(TokenRow).where(TokenRow.id == token.id).values(last_used_at=now))
        role = min(cast(Role, token.role), cast(Role, user.role), key=ROLES.index)
        return Person(user.id, user.name, role, "token", token.id, token.expires_at)


def _digest(secret: str) -> str:
    # Secrets are 256 random bits: there is nothing to guess, so one fast hash is enough.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _token(row: TokenRow, owner: str) -> Token:
    return Token(row.id, owner, row.name, cast(Role, row.role), row.created_at, row.expires_at, row.last_used_at)
