"""Installs the app in a workspace with Slack's OAuth flow."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from slack_bolt import BoltRequest, BoltResponse
from slack_bolt.oauth import OAuthFlow
from slack_bolt.oauth.callback_options import CallbackOptions, FailureArgs, SuccessArgs
from slack_bolt.oauth.oauth_settings import OAuthSettings
from slack_sdk import WebClient
from slack_sdk.errors import SlackClientError

from revelio.integrations.slack.installations import Installations, open_states
from revelio.settings.integrations import SlackSettings
from revelio.store.engine import Database

SCOPES = ("app_mentions:read", "channels:history", "chat:write", "commands", "files:write", "groups:history")
"""What the bot may do in a workspace: those of docs/files/slack-manifest.yaml."""
BACK = "/slack/oauth_redirect"

_WHY = {
    "access_denied": "The installation was declined in Slack.",
    "invalid_browser": "This is not the browser that began, or it began more than ten minutes ago. Open /slack/install again, "
    "over https or on localhost.",
    "invalid_state": "This answer was used already, or is more than ten minutes old. Open /slack/install again.",
    "missing_code": "Slack sent no code. Open /slack/install again.",
    "invalid_code": "Slack does not take its own code back. Are slack.client_id and slack.client_secret those of the app?",
}

log = logging.getLogger(__name__)


class Installing:
    """Bolt's OAuth flow on Revelio's database. States are valid once; tokens are encrypted and never shown."""

    def __init__(
        self, settings: SlackSettings, installations: Installations, database: Database, installed: Callable[[str, str], None]
    ) -> None:
        """``installed`` is called with the id and name of each new workspace."""
        base = settings.public_url.rstrip("/")
        self._installed = installed
        self._flow = OAuthFlow(
            client=WebClient(base_url=settings.api_url),
            settings=OAuthSettings(
                client_id=settings.client_id,
                client_secret=settings.client_secret.get_secret_value(),
                scopes=SCOPES,
                user_scopes=(),
                redirect_uri=f"{base}{BACK}" if base else None,
                install_page_rendering_enabled=False,
                installation_store=installations,
                state_store=open_states(database),
                callback_options=CallbackOptions(self._succeeded, self._failed),
            ),
        )

    def leave(self) -> BoltResponse:
        """To Slack, with a state that has to come back and a cookie that says so."""
        return self._flow.handle_installation(BoltRequest(body=""))

    def come_back(self, query: Mapping[str, str], cookie: str) -> BoltResponse:
        """From Slack: 200 with the name of the workspace, or an error in words. Raises ``StoreError``."""
        try:
            return self._flow.handle_callback(BoltRequest(body="", query=dict(query), headers={"cookie": cookie}))
        except (SlackClientError, OSError) as error:
            log.warning("cannot finish an installation in Slack: %s", type(error).__name__)
            return BoltResponse(status=502, body="Slack did not answer as it should. Open /slack/install again.")

    def _succeeded(self, args: SuccessArgs) -> BoltResponse:
        team, name = args.installation.team_id or "", args.installation.team_name or ""
        self._installed(team, name)
        return self._ended(200, name or team or "the workspace")

    def _failed(self, args: FailureArgs) -> BoltResponse:
        words = _WHY.get(args.reason, "Slack refused. Open /slack/install again.")
        return self._ended(max(args.suggested_status_code, 400), words)

    def _ended(self, status: int, words: str) -> BoltResponse:
        gone = self._flow.settings.state_utils.build_set_cookie_for_deletion()
        return BoltResponse(status=status, body=words, headers={"Set-Cookie": gone})
