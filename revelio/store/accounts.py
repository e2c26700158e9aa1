"""Manage user accounts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, cast, get_args

from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from revelio.errors import AccessError, InvalidInputError, NotFoundError
from revelio.store.audit import audit_row
from revelio.store.engine import Database, as_store_error
from revelio.store.passwords import hash_password, is_password
from revelio.store.tables import SessionRow, TokenRow, UserRow
from revelio.support.current_actor import Actor

Role = Literal["viewer", "responder", "admin"]
"""A viewer reads; a responder asks, runs queries and gives feedback too; an admin also decides who may do what."""

ROLES: tuple[Role, ...] = get_args(Role)


def allows(role: Role, wanted: Role) -> bool:
    """Whether ``role`` includes the permissions of ``wanted``."""
    return ROLES.index(role) >= ROLES.index(wanted)


@dataclass(frozen=True, slots=True)
class User:
    """A user account. ``created_at`` in Unix seconds; without a password only through the identity provider."""

    name: str
    role: Role
    created_at: float
    has_password: bool


@dataclass(frozen=True, slots=True)
class Person:
    """An authenticated user and their current role. ``means`` is how they authenticated.

    With a token: its id, and when it expires in Unix seconds (None: never).
    """

    user_id: int
    name: str
    role: Role
    means: Literal["session", "token"]
    token_id: str | None = None
    expires_at: float | None = None


class Accounts:
    """Users and their roles. Safe to share between threads; every change is in the audit trail."""

    def __init__(self, database: Database) -> None:
        """On an open database."""
        self._database = database

    def list(self) -> tuple[User, ...]:
        """All of them, by name."""
        with as_store_error("read the users"), Session(self._database.engine) as session:
            return tuple(_user(row) for row in session.scalars(select(UserRow).order_by(UserRow.name)))

    def has_admin(self) -> bool:
        """Whether an admin exists."""
        with as_store_error("read the users"), Session(self._database.engine) as session:
            return _admins(session) > 0

    def get(self, name: str) -> User:
        """One of them; ``NotFoundError`` when there is none of that name."""
        with as_store_error("read the users"), Session(self._database.engine) as session:
            return _user(_row(session, name))

    def add(self, name: str, role: Role, password: str | None, by: Actor, *, subject: str | None = None) -> User:
        """Add a user; ``InvalidInputError`` when the name is taken or unusable, or the password too short."""
        usable = name == name.strip() and 1 <= len(name) <= 100 and name.isprintable()
        if not usable:
            raise InvalidInputError("a user's name has 1 to 100 printable characters and no space at its ends")
        hashed = hash_password(password) if password is not None else None
        row = UserRow(name=name, role=role, password_hash=hashed, subject=subject, created_at=time.time())
        try:
            with self._change() as session:
                session.add(row)
                session.flush()
                session.add(audit_row(by, "user added", name, role))
                return _user(row)
        except IntegrityError as error:
            raise InvalidInputError(
                f"there is a user {name!r} already; choose another name, or change that one's role"
            ) from error

    def set_role(self, name: str, role: Role, by: Actor) -> User:
        """Change a role, effective at once; ``InvalidInputError`` when no admin would be left."""
        with self._change() as session:
            _hold_admins(session)
            row = _row(session, name)
            before, row.role = row.role, role
            session.flush()
            _require_admin(session, before)
            session.add(audit_row(by, "role changed", name, f"{before} to {role}"))
            return _user(row)

    def set_password(self, name: str, password: str, by: Actor) -> None:
        """Set a password, and end all sessions and tokens of the user."""
        hashed = hash_password(password)
        with self._change() as session:
            row = _row(session, name)
            row.password_hash = hashed
            session.execute(delete(SessionRow).where(SessionRow.user_id == row.id))
            ended = session.execute(delete(TokenRow).where(TokenRow.user_id == row.id).returning(TokenRow.id)).all()
            session.add(audit_row(by, "password changed", name, f"{len(ended)} tokens ended" if ended else ""))

    def remove(self, name: str, by: Actor) -> None:
        """Gone, with sessions and tokens. What they said stays."""
        with self._change() as session:
            _hold_admins(session)
            row = _row(session, name)
            session.execute(delete(SessionRow).where(SessionRow.user_id == row.id))
            session.execute(delete(TokenRow).where(TokenRow.user_id == row.id))
            session.delete(row)
            session.flush()
            _require_admin(session, row.role)
            session.add(audit_row(by, "user removed", name))

    def check(self, name: str, password: str, address: str) -> Person:
        """The user with this name and password; ``AccessError``, the same for a wrong name as for a wrong password."""
        with as_store_error("read the users"), Session(self._database.engine) as session:
            row = session.scalar(select(UserRow).where(UserRow.name == name[:100])) if "\x00" not in name else None
        good = is_password(password, row.password_hash if row else None)
        with self._change() as session:
            session.add(audit_row(Actor(name[:100], address), "signed in" if good else "sign-in refused"))
        if not good or row is None:
            raise AccessError("This name and password do not belong together.")
        return Person(row.id, row.name, cast(Role, row.role), "session")

    def by_subject(self, subject: str, name: str, role: Role, address: str) -> Person:
        """The user that the identity provider authenticated, added with ``role`` at the first sign-in."""
        with as_store_error("read the users"), Session(self._database.engine) as session:
            row = session.scalar(select(UserRow).where(UserRow.subject == subject))
        if row is None:
            self.add(name, role, None, Actor(name, address), subject=subject)
        with self._change() as session:
            row = session.scalars(select(UserRow).where(UserRow.subject == subject)).one()
            session.add(audit_row(Actor(row.name, address), "signed in", detail="identity provider"))
            return Person(row.id, row.name, cast(Role, row.role), "session")

    @contextmanager
    def _change(self) -> Iterator[Session]:
        with changing(self._database) as session:
            yield session


@contextmanager
def changing(database: Database) -> Iterator[Session]:
    """A transaction on accounts, on disk when the block ends; the caller handles ``IntegrityError``."""
    with (
        as_store_error("change the accounts", leave=IntegrityError),
        Session(database.durable, expire_on_commit=False) as session,
    ):
        yield session
        session.commit()


def _row(session: Session, name: str) -> UserRow:
    row = session.scalar(select(UserRow).where(UserRow.name == name)) if "\x00" not in name else None
    if row is None:
        raise NotFoundError(f"there is no user {name!r}; `revelio users list` shows those there are")
    return row


def _admins(session: Session) -> int:
    return session.scalar(select(func.count()).select_from(UserRow).where(UserRow.role == "admin")) or 0


def _hold_admins(session: Session) -> None:
    """Two admins who demote each other take turns (SQLite's writers do so anyway)."""
    session.execute(select(UserRow.id).where(UserRow.role == "admin").with_for_update()).all()


def _require_admin(session: Session, before: str) -> None:
    if before == "admin" and not _admins(session):
        raise InvalidInputError("this is the last admin; make another user an admin first")


def _user(row: UserRow) -> User:
    return User(row.name, cast(Role, row.role), row.created_at, row.password_hash is not None)
