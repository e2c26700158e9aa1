"""The workspaces that installed the app, in Revelio's own database. Their tokens are encrypted there."""

from __future__ import annotations

import base64
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from slack_sdk.oauth.installation_store import Installation
from slack_sdk.oauth.installation_store.sqlalchemy import SQLAlchemyInstallationStore
from slack_sdk.oauth.state_store.sqlalchemy import SQLAlchemyOAuthStateStore
from sqlalchemy import Dialect, Text, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.types import TypeDecorator

from revelio.settings.integrations import SlackSettings
from revelio.store.engine import Database, as_store_error

STATE_S = 600
"""Lifetime of an installation attempt, in seconds."""
_SECRET = ("bot_token", "bot_refresh_token", "user_token", "user_refresh_token", "incoming_webhook_url")


class Sealed(TypeDecorator[str]):
    """Text that is encrypted in the database; None where it was encrypted with another key."""

    impl = Text
    cache_ok = True

    def __init__(self, secret: str) -> None:
        """``secret`` is what the key is made of: of high entropy, as Slack's are."""
        super().__init__()
        key = HKDF(SHA256(), 32, salt=None, info=b"revelio slack installations").derive(secret.encode())
        self._key = Fernet(base64.urlsafe_b64encode(key))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """To the database."""
        return None if value is None else self._key.encrypt(value.encode()).decode()

    def process_result_value(self, value: Any | None, dialect: Dialect) -> str | None:
        """From the database."""
        try:
            return None if value is None else self._key.decrypt(str(value).encode()).decode()
        except InvalidToken:
            return None


class Installations(SQLAlchemyInstallationStore):
    """The SDK's store, with tokens encrypted by a key made of the app's client secret. Safe to share between threads.

    Methods raise ``StoreError`` when the database fails.
    """

    def __init__(self, settings: SlackSettings, database: Database) -> None:
        """In the store's own database. The tables are the SDK's, and made where they lack."""
        super().__init__(settings.client_id, database.durable)
        sealed = Sealed(settings.client_secret.get_secret_value())
        for table in (self.bots, self.installations):
            for column in (c for c in table.c if c.name in _SECRET):
                column.type = sealed
        _make(self)

    def save(self, installation: Installation) -> None:
        """Keep it; on disk when this returns. Installing again replaces what was there."""
        with as_store_error("keep the installation"):
            self.delete_all(enterprise_id=installation.enterprise_id, team_id=installation.team_id)
            super().save(installation)

    def tokens(self) -> dict[str, str]:
        """The bot's token by workspace."""
        c = self.bots.c
        wanted = select(c.team_id, c.bot_token).where(c.client_id == self.client_id).order_by(c.installed_at)
        with as_store_error("read the installations"), self.engine.connect() as connection:
            return {team: token for team, token in connection.execute(wanted) if team and token}

    def forget(self, team: str) -> None:
        """Drop what is known of a workspace that removed the app."""
        with as_store_error("forget an installation"), self.engine.begin() as connection:
            for table in (self.bots, self.installations):
                connection.execute(table.delete().where(table.c.client_id == self.client_id, table.c.team_id == team))


def open_installations(settings: SlackSettings, database: Database) -> Installations | None:
    """The installations, where the settings name the app's client id and secret."""
    if not settings.client_id or not settings.client_secret.get_secret_value():
        return None
    return Installations(settings, database)


def open_states(database: Database) -> SQLAlchemyOAuthStateStore:
    """What was asked of Slack and is not answered yet: each state is good once."""
    states = SQLAlchemyOAuthStateStore(STATE_S, database.durable)
    _make(states)
    return states


def _make(store: Installations | SQLAlchemyOAuthStateStore) -> None:
    with as_store_error("make the tables of the Slack app"):
        try:
            store.metadata.create_all(store.engine)
        except SQLAlchemyError:
            store.metadata.create_all(store.engine)  # another process made them in between; what fails twice is an error
