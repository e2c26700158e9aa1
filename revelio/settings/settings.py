"""Settings, read once at the edge: ``revelio.toml`` (or the file named by ``REVELIO_CONFIG``), then ``REVELIO_*``."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    IPvAnyNetwork,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from revelio.errors import InvalidInputError
from revelio.errors.redaction import public_address
from revelio.settings.access import AccessSettings, Address, remember_secrets
from revelio.settings.imports import ImportSettings
from revelio.settings.integrations import AlertSettings, SlackSettings, TelemetrySettings
from revelio.settings.profile import ProfileSettings
from revelio.settings.registered_systems import registered_systems
from revelio.settings.retrieval import RetrievalSettings
from revelio.settings.setting_errors import explained, misspelt_variable, unreadable
from revelio.support.bounded_file import read_bounded

BUNDLED = Path(str(files("revelio") / "bundled"))


_YEAR_S = 366 * 86_400.0
_PAGE = r"^(https?://\S+)?$"


# Everybody who may see an answer sees its links; a browser asks for the password itself.
_Page = Annotated[str, AfterValidator(public_address)]


def _with_scheme(url: str) -> str:
    """``HOST:PORT`` alone would read as a scheme, the host, with a path, the port."""
    if re.match(r"[\w.-]+:\d+(/|$)", url):
        raise ValueError(f"has no scheme; write http://{url}, or the scheme of its kind")
    return url


class Backend(AccessSettings):
    """One backend of one system."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    url: Annotated[Address, AfterValidator(_with_scheme)] = Field(
        description="Address that Revelio queries, for example http://prometheus:9090"
    )
    hosts: list[Annotated[Address, AfterValidator(_with_scheme)]] = Field(
        [],
        description="Addresses of several nodes of one Elasticsearch, besides `url` or in place of it: one stands in for another",
    )
    product: str = Field(
        "", description="What it is, such as `loki`, where its name does not say so: a system may have several of one kind"
    )
    link: _Page = Field(
        "",
        pattern=_PAGE,
        description="Base address for deep links (elasticsearch: a Kibana; opensearch: its Dashboards), as browsers reach it",
    )
    grafana: _Page = Field(
        "",
        pattern=_PAGE,
        description="Base address of a Grafana: links open its Explore page, with `datasource` (prometheus, loki, tempo)",
    )
    datasource: str = Field("", description="The uid of this backend's data source in Grafana")
    data_view: str = Field(
        "",
        description="Id of the data view (Kibana, else ES|QL) or index pattern (OpenSearch Dashboards) that links open",
    )
    index: str = Field(
        "",
        pattern=r"^[^/?#\s]*$",
        description="Index, or pattern of indices, of the logs (elasticsearch, opensearch); `logs-PROJECT` when empty",
    )
    profile: ProfileSettings = Field(default_factory=ProfileSettings, description="What discovery is not to find out itself")

    @model_validator(mode="before")
    @classmethod
    def _first_host(cls, given: object) -> object:
        """Who names hosts need not repeat one of them as url."""
        if isinstance(given, dict) and "url" not in given and isinstance(given.get("hosts"), list) and given["hosts"]:
            return {"url": given["hosts"][0], **given}
        return given

    @property
    def addresses(self) -> tuple[str, ...]:
        """``url`` and ``hosts``, each once."""
        return tuple(dict.fromkeys(address.rstrip("/") for address in (self.url, *self.hosts)))


class OidcSettings(BaseModel):
    """An identity provider for sign-in (OpenID Connect)."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    issuer: str = Field(description="Its address, for example https://login.example.com/realms/ops")
    client_id: str = Field(description="Revelio's client id at the provider")
    client_secret: SecretStr = Field(SecretStr(""), description="Set it in the environment; empty for a public client")
    role: Literal["viewer", "responder"] = Field("viewer", description="Role at the first sign-in; an admin can change it")
    title: str = Field("single sign-on", description="Label of the sign-in button")


class LearningSettings(BaseModel):
    """Learning from feedback."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    folder: Path = Field(Path("var/models"), description="Folder of learned versions")
    dataset: Path = Field(
        BUNDLED / "replay_set", description="Labelled incidents to replay in training (`train`) and to compare on (the rest)"
    )

    @field_validator("dataset")
    @classmethod
    def _renamed(cls, dataset: Path) -> Path:
        """The bundled folder under its former name."""
        renamed = dataset.with_name("replay_set")
        former = dataset.parts[-2:] == ("bundled", "rehearsal") and not dataset.exists()
        return renamed if former and renamed.is_dir() else dataset

    every_hours: float = Field(0, ge=0, le=8_760, description="Hours between the server's learning runs; 0: never")
    at_least: int = Field(5, ge=1, description="Minimum number of new verdicts for a run")


class SystemSettings(BaseModel):
    """A live system."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    project: str = Field("", description="Compose project or namespace of its containers; empty: the system's name")
    window_s: float | None = Field(
        None, gt=0, le=_YEAR_S, description="Seconds before the report that count as the incident; empty: by the scrape interval"
    )
    baseline_s: float | None = Field(
        None, gt=0, le=_YEAR_S, description="Seconds before the window that count as normal; empty: by the scrape interval"
    )
    backends: dict[str, Backend] = Field({}, description="Backend by tool name")

    @field_validator("backends")
    @classmethod
    def _one_address(cls, backends: dict[str, Backend]) -> dict[str, Backend]:
        """Only the client of Elasticsearch asks several nodes: elsewhere all but the first would be passed over in silence."""
        for name, backend in backends.items():
            if len(backend.addresses) > 1 and (backend.product or name.partition("-")[0]) != "elasticsearch":
                raise ValueError(f"{name} has several hosts, which only elasticsearch can have; keep one as its url")
        return backends


class RegisteredSystemsSource(PydanticBaseSettingsSource):
    """The systems that `revelio testbed up` registered; every other source wins over them."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Not asked: the one field that this source knows is given as a whole."""
        return None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """``systems`` where any is registered."""
        systems = registered_systems()
        return {"systems": systems} if systems else {}


class Settings(BaseSettings):
    """Every setting of Revelio."""

    model_config = SettingsConfigDict(
        env_prefix="REVELIO_", env_nested_delimiter="__", extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )
    host: str = Field("127.0.0.1", description="Address to listen on; other than loopback needs `accounts`")
    port: int = Field(8000, ge=1, le=65535, description="Port to listen on")
    accounts: bool = Field(False, description="Require sign-in for people and tokens for programs")
    names: list[str] = Field(
        [], description="Host names of the server besides localhost and addresses, such as revelio.example.com"
    )
    trusted_proxies: list[IPvAnyNetwork] = Field(
        [],
        description="Addresses or networks of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted, "
        "such as 127.0.0.1 or 10.0.0.0/8",
    )
    rate_limit: int = Field(
        600,
        ge=0,
        description="Requests per minute for each account, or each address without one, and four times as many deliveries "
        "of alerts and from Slack; 0: unlimited",
    )
    oidc: OidcSettings | None = Field(None, description="Identity provider; needs `accounts`")
    database: Address = Field("sqlite:///var/revelio.db", description="SQLAlchemy address of the store")
    mask: list[Literal["secrets", "emails", "cards", "addresses"]] = Field(
        ["secrets", "emails", "cards"],
        description="What to mask in reports and notes before saving; `addresses` are IP addresses",
    )
    keep_days: float = Field(
        0, ge=0, le=36_500, description="Retention of answers, feedback and audit trail in days; 0: unlimited"
    )
    model: Path = Field(BUNDLED / "model", description="Model folder")
    learning: LearningSettings = Field(default_factory=LearningSettings, description="Learning from feedback")
    incidents: Path = Field(BUNDLED / "incidents", description="Recorded incidents offered on the page")
    catalog: list[Path] = Field([], description="Catalog files; the bundled ones when empty")
    imports: ImportSettings = Field(default_factory=ImportSettings, description="Questions of one's own")
    retrieval: RetrievalSettings = Field(default_factory=RetrievalSettings, description="The index of past incidents")
    systems: dict[str, SystemSettings] = Field({}, description="Live systems")
    timeout_s: float = Field(5.0, gt=0, le=600, description="Longest wait for one backend request, in seconds")
    max_report_chars: int = Field(20_000, gt=0, description="Longest report accepted, in characters")
    slack: SlackSettings = Field(default_factory=SlackSettings, description="The Slack bot")
    alerts: AlertSettings = Field(default_factory=AlertSettings, description="Incoming alerts")
    telemetry: TelemetrySettings = Field(default_factory=TelemetrySettings, description="Traces and logs of Revelio itself")

    @model_validator(mode="after")
    def _remembered(self) -> Self:
        remember_secrets(self)
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments win over the environment, the environment over the file, the file over what is registered."""
        path = Path(os.environ.get("REVELIO_CONFIG", "revelio.toml"))
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, path), RegisteredSystemsSource(settings_cls)


def load_settings() -> Settings:
    """Read the settings; ``InvalidInputError`` names the setting that is wrong."""
    wanted = os.environ.get("REVELIO_CONFIG")
    if wanted and not Path(wanted).is_file():
        raise InvalidInputError(f"REVELIO_CONFIG names {wanted}, which is not a file")
    path = Path(wanted or "revelio.toml")
    try:
        if path.is_file():
            read_bounded(path)
        if misspelt := misspelt_variable(os.environ, Settings):
            raise InvalidInputError(misspelt)
        return Settings()
    except ValidationError as error:
        raise InvalidInputError(explained(error, Settings)) from error
    except (OSError, ValueError, OverflowError) as error:
        raise InvalidInputError(unreadable(error, Settings) or f"{path} cannot be read: {error}") from error
    except RecursionError as error:
        raise InvalidInputError(f"{path}, or a setting in the environment, is nested too deeply") from error
