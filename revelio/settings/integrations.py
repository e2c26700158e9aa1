"""Settings of Slack, alert webhooks and Revelio's own telemetry."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr

_NONE = SecretStr("")


class SlackSettings(BaseModel):
    """The Slack bot. Set secrets in the environment."""

    model_config = ConfigDict(extra="forbid")
    signing_secret: SecretStr = Field(_NONE, description="Verifies Slack's HTTP requests; without it the routes answer 404")
    bot_token: SecretStr = Field(_NONE, description="`xoxb-` token, for one workspace")
    bot_tokens: dict[str, SecretStr] = Field({}, description="`xoxb-` tokens by workspace id (`T...`), for several workspaces")
    client_id: str = Field("", description="The app's client id, to install it in more workspaces from /slack/install")
    client_secret: SecretStr = Field(_NONE, description="The app's client secret; tokens of those workspaces are encrypted by it")
    app_token: SecretStr = Field(_NONE, description="`xapp-` token, for `revelio slack` (socket mode)")
    system: str = Field("", description="System to use when a message names none; empty: the only one configured")
    channels: dict[str, str] = Field({}, description="System by channel id (`C...`); wins over `system`")
    public_url: str = Field("", description="Public address of this server, for links to answers and Slack's OAuth redirect")
    api_url: str = Field("https://slack.com/api/", description="Slack's Web API")


class AlertSettings(BaseModel):
    """Incoming alert webhooks. A source needs its secret, except from this machine without accounts or proxies."""

    model_config = ConfigDict(extra="forbid")
    system: str = Field("", description="System to use when an alert names none; empty: the only one configured")
    system_label: str = Field("system", description="Label of an alert that names its system")
    slack_channel: str = Field(
        "", description="Channel for answers: `C...`, or `T.../C...` with several workspaces; empty: no posts"
    )
    alertmanager_token: SecretStr = Field(_NONE, description="Bearer token that Alertmanager sends")
    alertmanager_password: SecretStr = Field(
        _NONE, description="Password that Alertmanager sends as user `revelio`, instead of a token"
    )
    pagerduty_secret: SecretStr = Field(_NONE, description="Signing secret of the PagerDuty V3 subscription")
    grafana_token: SecretStr = Field(_NONE, description="Bearer token that Grafana sends")
    grafana_password: SecretStr = Field(_NONE, description="Password that Grafana sends as user `revelio`, instead of a token")
    grafana_secret: SecretStr = Field(_NONE, description="Secret of Grafana's HMAC signature, instead of both")


class TelemetrySettings(BaseModel):
    """Traces and logs of Revelio itself."""

    model_config = ConfigDict(extra="forbid")
    otlp_endpoint: str = Field("", description="OTLP/HTTP endpoint for traces, such as http://127.0.0.1:4318; empty: no traces")
    log_format: str = Field("text", pattern="^(text|json)$", description="`text` for people, `json` for collectors")
