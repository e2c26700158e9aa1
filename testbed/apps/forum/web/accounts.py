"""Registering, signing in and out."""

from __future__ import annotations

import logging
from typing import Any

import asyncpg
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.forum.web.site import COOKIE, Site, Visitor, acting, sessions_needed, sign_in
from apps.forum.web.texts import name_of, storable
from kit.bodies import body_of, word
from kit.passwords import hash_password, matches

log = logging.getLogger(__name__)
SHORTEST, LONGEST = 8, 200


def routes(site: Site) -> list[Route]:
    """The pages of this file."""

    async def register(request: Request) -> Response:
        body = await body_of(request)
        name, password = name_of(body, "name"), _password(body)
        if len(password) < SHORTEST:
            raise HTTPException(400, f"password must have at least {SHORTEST} characters")
        hashed = await hash_password(password)
        try:
            async with site.database.connection() as connection:
                number = await connection.fetchval(
                    "INSERT INTO users (name, password) VALUES ($1, $2) RETURNING id", name, hashed
                )
        except asyncpg.UniqueViolationError as error:
            raise HTTPException(409, f"the name {name} is taken") from error
        log.info("member %d has registered", number)
        return await _signed_in(site, number, name, 201)

    async def login(request: Request) -> Response:
        body = await body_of(request)
        name, password = name_of(body, "name"), _password(body)
        async with site.database.connection() as connection:
            member = await connection.fetchrow("SELECT id, name, password FROM users WHERE lower(name) = lower($1)", name)
        if member is None or not await matches(password, member["password"]):
            log.info("a sign-in as %s was refused", name)
            raise HTTPException(401, "name or password is wrong")
        return await _signed_in(site, member["id"], member["name"], 200)

    async def logout(request: Request) -> Response:
        with sessions_needed():
            await site.sessions.end(request.cookies.get(COOKIE, ""))
        response = JSONResponse({"user": None})
        response.delete_cookie(COOKIE)
        return response

    async def me(_: Request, visitor: Visitor) -> dict[str, Any]:
        async with site.database.connection() as connection:
            karma = await connection.fetchval("SELECT karma FROM users WHERE id = $1", visitor.id)
            unread = await connection.fetchval("SELECT count(*) FROM inbox WHERE owner = $1 AND read_at IS NULL", visitor.id)
        return {"name": visitor.name, "karma": karma, "unread": unread}

    return [
        Route("/register", register, methods=["POST"]),
        Route("/login", login, methods=["POST"]),
        Route("/logout", logout, methods=["POST"]),
        Route("/me", acting(site, me)),
    ]


async def _signed_in(site: Site, number: int, name: str, status: int) -> Response:
    with sessions_needed():
        token = await site.sessions.start({"user": number, "name": name})
    response = JSONResponse({"id": number, "user": name}, status)
    sign_in(response, token)
    return response


def _password(body: dict[str, Any]) -> str:
    password = storable(word(body, "password"), "password")
    if len(password) > LONGEST:
        raise HTTPException(400, f"password must have at most {LONGEST} characters")
    return password
