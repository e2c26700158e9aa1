"""Databases of both kinds: every test that asks for ``url`` or ``store`` runs on SQLite and on Postgres."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from revelio.store import Store
from tests.store import postgres
from tests.store.cheap import cheap_hashes

_count = itertools.count(1)


@pytest.fixture(scope="package", autouse=True)
def _cheap_hashes() -> Iterator[None]:
    with cheap_hashes():
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """One server for the session; ``url`` takes a database of its own on it."""
    if why := postgres.why_not():
        pytest.skip(why)
    with postgres.running() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/deep/er/revelio.db"
    server: str = request.getfixturevalue("postgres_server")
    name = f"revelio_{next(_count)}"
    engine = create_engine(
        server.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT", poolclass=NullPool
    )
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    return f"{server.rpartition('/')[0]}/{name}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An open store on an empty database, that masks what it should."""
    store = Store(url, masked=("secrets", "emails", "cards"))
    yield store
    store.close()
