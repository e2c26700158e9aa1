"""Settings of what reaches people elsewhere: Slack, alerts, assistants, and telemetry about Revelio itself."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, SecretStr

_NONE = SecretStr("")


class SlackSettings(BaseModel):
    """The Slack bot. Secrets are best given in the environment."""

    model_config = ConfigDict(extra="forbid")
    signing_secret: SecretStr = Field(
        _NONE, description="Signs what Slack sends over HTTP; the routes exist only where it is set"
    )
    bot_token: SecretStr = Field(_NONE, description="`xoxb-` token, where there is one workspace")
    bot_tokens: dict[str, SecretStr] = Field({}, description="`xoxb-` token by workspace id (`T...`), where there are several")
    client_id: str = Field("", description="The app's client id, to install it in more workspaces from /slack/install")
    client_secret: SecretStr = Field(_NONE, description="The app's client secret; tokens of those workspaces are encrypted by it")
    app_token: SecretStr = Field(_NONE, description="`xapp-` token, for `revelio slack` (socket mode)")
    system: str = Field("", description="System that is meant where nobody names one; the only one there is when empty")
    channels: dict[str, str] = Field({}, description="System by channel id (`C...`); wins over `system`")
    public_url: str = Field(
        "", description="Address of this server as people reach it, for links to whole answers and the way back from Slack"
    )
    api_url: str = Field("https://slack.com/api/", description="Slack's Web API")


class AlertSettings(BaseModel):
    """Alerts that come in through webhooks. A source is open only where its secret is set, or on loopback without one."""

    model_config = ConfigDict(extra="forbid")
    system: str = Field("", description="System that is meant where an alert names none; the only one there is when empty")
    system_label: str = Field("system", description="Label of an alert that names its system")
    slack_channel: str = Field(
        "", description="Where answers are posted: `C...`, or `T.../C...` with several workspaces; nowhere when empty"
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
    """What Revelio tells about itself besides `/metrics`."""

    model_config = ConfigDict(extra="forbid")
    otlp_endpoint: str = Field(
        "", description="OTLP/HTTP address that traces go to, such as http://127.0.0.1:4318; no traces when empty"
    )
    log_format: str = Field("text", pattern="^(text|json)$", description="`text` for people, `json` for collectors")
