"""auth: accounts, and who is signed in."""

from __future__ import annotations

import logging
import re
from typing import Any

import asyncpg
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.travel.schema import Tables
from apps.travel.signatures import is_signed, sign
from kit.bodies import body_of, word
from kit.cache import Store
from kit.database import Database
from kit.passwords import hash_password, matches
from kit.service import Resource, run
from kit.sessions import Sessions
from kit.settings import Settings

log = logging.getLogger(__name__)
SESSION_SECONDS = 1800
_EMAIL = re.compile(r"^[^@\s]{1,64}@[^@\s]{1,185}$")
_SHORTEST_PASSWORD = 8
_SIGNATURE = 16
_NOBODY = "$".join(("scrypt", "00" * 16, "00" * 64))
"""What a password is compared with where there is no account, so that the answer takes as long."""


class Accounts:
    """Accounts in Postgres. A session's token is signed, so that a made-up one is refused without a look into the store."""

    def __init__(self, database: Database, sessions: Sessions) -> None:
        self.database, self.sessions = database, sessions

    async def register(self, email: str, name: str, password: str) -> dict[str, Any]:
        """A new account, signed in; 409 when the address has one already."""
        if not _EMAIL.match(email):
            raise HTTPException(400, "email must be an address")
        if len(password) < _SHORTEST_PASSWORD or len(password) > 200:
            raise HTTPException(400, f"password must have {_SHORTEST_PASSWORD} to 200 characters")
        if len(name) > 100:
            raise HTTPException(400, "name must have up to 100 characters")
        try:
            async with self.database.connection() as connection:
                number = await connection.fetchval(
                    "INSERT INTO accounts (email, name, password) VALUES ($1, $2, $3) RETURNING id",
                    email.lower(),
                    name,
                    await hash_password(password),
                )
        except asyncpg.UniqueViolationError:
            raise HTTPException(409, "there is an account with this address already") from None
        log.info("account %d registered", number)
        return await self._signed_in({"account": number, "name": name})

    async def sign_in(self, email: str, password: str) -> dict[str, Any]:
        """A session for the owner of the password; 401 for anybody else."""
        async with self.database.connection() as connection:
            row = await connection.fetchrow("SELECT id, name, password FROM accounts WHERE email = $1", email.lower())
        if not await matches(password, row["password"] if row else _NOBODY) or not row:
            log.info("refused to sign somebody in")
            raise HTTPException(401, "the address or the password is wrong")
        log.info("account %d signed in", row["id"])
        return await self._signed_in({"account": row["id"], "name": row["name"]})

    async def who(self, session: str) -> dict[str, Any]:
        """Whose session it is; 401 when it has ended or never was."""
        token, _, signature = session.partition(".")
        found = await self.sessions.get(token) if is_signed(token, signature) else None
        if found is None:
            raise HTTPException(401, "you are not signed in")
        return found

    async def sign_out(self, session: str) -> None:
        """End the session, if it is one."""
        await self.sessions.end(session.partition(".")[0])

    async def _signed_in(self, who: dict[str, Any]) -> dict[str, Any]:
        token = await self.sessions.start(who)
        return who | {"session": f"{token}.{sign(token, _SIGNATURE)}"}


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, store = Database(settings), Store(settings.redis)
    accounts = Accounts(database, Sessions(store, int(settings.number("SESSION_SECONDS", SESSION_SECONDS))))

    async def register(request: Request) -> Response:
        body = await body_of(request)
        return JSONResponse(await accounts.register(word(body, "email"), word(body, "name"), word(body, "password")), 201)

    async def sign_in(request: Request) -> Response:
        body = await body_of(request)
        return JSONResponse(await accounts.sign_in(word(body, "email"), word(body, "password")))

    async def who(request: Request) -> Response:
        return JSONResponse(await accounts.who(request.path_params["session"]))

    async def sign_out(request: Request) -> Response:
        await accounts.sign_out(request.path_params["session"])
        return JSONResponse({})

    routes = [
        Route("/accounts", register, methods=["POST"]),
        Route("/sessions", sign_in, methods=["POST"]),
        Route("/sessions/{session}", who),
        Route("/sessions/{session}", sign_out, methods=["DELETE"]),
    ]
    return routes, [database, store, Tables(database)]


if __name__ == "__main__":
    run(make)
