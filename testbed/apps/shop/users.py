"""users: accounts, and who is signed in."""

from __future__ import annotations

import logging
import re
from typing import Any

import asyncpg
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.shop.pricing import sign
from apps.shop.seed import prepare
from kit.bodies import body_of, word
from kit.cache import Store
from kit.database import Database
from kit.passwords import hash_password, matches
from kit.service import Resource, run
from kit.sessions import Sessions
from kit.settings import Settings

log = logging.getLogger(__name__)
SESSION_SECONDS = 1800
SHORTEST, LONGEST = 8, 200
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")


class Accounts:
    """Accounts in Postgres, one an e-mail address."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._nobody = ""

    async def open(self) -> None:
        """Make the tables when they are not there."""
        async with self.database.connection() as connection:
            await prepare(connection)
        self._nobody = await hash_password("nobody has this one")

    async def close(self) -> None:
        """Nothing to close."""

    async def register(self, email: str, password: str, name: str) -> dict[str, Any]:
        """A new account; 400 for what cannot be an address or is too short a password, 409 when the address has one."""
        email = email.strip().lower()
        if not _EMAIL.fullmatch(email) or len(email) > LONGEST:
            raise HTTPException(400, "that is no e-mail address")
        if not SHORTEST <= len(password) <= LONGEST or len(name) > LONGEST:
            raise HTTPException(400, f"a password has {SHORTEST} to {LONGEST} characters, a name at most {LONGEST}")
        hashed = await hash_password(password)
        try:
            async with self.database.connection() as connection:
                number: int = await connection.fetchval(
                    "INSERT INTO accounts (email, name, password) VALUES ($1, $2, $3) RETURNING id", email, name, hashed
                )
        except asyncpg.UniqueViolationError as error:
            raise HTTPException(409, "there is an account with this e-mail address") from error
        log.info("account %d was registered", number)
        return {"id": number, "name": name, "email": email}

    async def check(self, email: str, password: str) -> dict[str, Any]:
        """The account; 401 when there is none with that password (it takes as long to say either)."""
        async with self.database.connection() as connection:
            row = await connection.fetchrow(
                "SELECT id, name, email, password FROM accounts WHERE email = $1", email.strip().lower()
            )
        if not await matches(password[:LONGEST], row["password"] if row else self._nobody) or row is None:
            raise HTTPException(401, "e-mail address or password is wrong")
        return {"id": row["id"], "name": row["name"], "email": row["email"]}

    async def account(self, number: int) -> dict[str, Any]:
        """One account; 404 when there is none."""
        async with self.database.connection() as connection:
            row = await connection.fetchrow("SELECT id, name, email, since FROM accounts WHERE id = $1", number)
        if row is None:
            raise HTTPException(404, f"there is no account {number}")
        return dict(row) | {"since": row["since"].isoformat()}


def make(settings: Settings) -> tuple[list[Route], list[Resource]]:
    """Routes and resources."""
    database, store = Database(settings), Store(settings.redis)
    accounts = Accounts(database)
    sessions = Sessions(store, int(settings.number("SESSION_SECONDS", SESSION_SECONDS)))

    async def register(request: Request) -> Response:
        body = await body_of(request)
        account = await accounts.register(word(body, "email"), word(body, "password"), word(body, "name"))
        return JSONResponse({"account": account, "token": await sessions.start({"account": account["id"]})}, 201)

    async def sign_in(request: Request) -> Response:
        body = await body_of(request)
        account = await accounts.check(word(body, "email"), word(body, "password"))
        token = await sessions.start({"account": account["id"]})
        log.info("account %d signed in", account["id"])
        return JSONResponse({"account": account, "token": token})

    async def who(request: Request) -> Response:
        token = request.path_params["token"]
        known = await sessions.get(token)
        if known is None:
            raise HTTPException(401, "you are not signed in any more")
        # Against forged requests, every form carries what only the session's owner was told.
        return JSONResponse(known | {"form": sign(token)[:16]})

    async def sign_out(request: Request) -> Response:
        await sessions.end(request.path_params["token"])
        return JSONResponse({})

    async def account(request: Request) -> Response:
        return JSONResponse(await accounts.account(request.path_params["id"]))

    routes = [
        Route("/accounts", register, methods=["POST"]),
        Route("/accounts/{id:int}", account),
        Route("/sessions", sign_in, methods=["POST"]),
        Route("/sessions/{token}", who),
        Route("/sessions/{token}", sign_out, methods=["DELETE"]),
    ]
    return routes, [database, store, accounts]


if __name__ == "__main__":
    run(make)
