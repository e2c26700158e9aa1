"""Writes docs/reference from the program itself: ``python -m revelio.cli.reference``; a test holds the files to it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from revelio.catalog import bundled_catalog
from revelio.catalog.conventions.reference import reference as conventions_page
from revelio.catalog.reference import reference as catalog_page
from revelio.cli.app import build
from revelio.settings import BUNDLED, Backend, LearningSettings, OidcSettings, Settings, SystemSettings
from revelio.settings.integrations import AlertSettings, SlackSettings, TelemetrySettings
from revelio.settings.profile import ProfileSettings
from revelio.settings.retrieval import RetrievalSettings
from revelio.training.evaluation.markdown import page as figures_page

WIDTH = 100


def pages() -> dict[str, str]:
    """Every generated page by file name."""
    evaluation = json.loads((BUNDLED / "model" / "evaluation.json").read_text(encoding="utf-8"))
    return {
        "cli.md": cli_page(),
        "settings.md": settings_page(),
        "catalog.md": catalog_page(bundled_catalog()),
        "conventions.md": conventions_page(),
        "figures.md": figures_page(evaluation),
    }


def cli_page() -> str:
    """The help text of every verb."""
    root = typer.main.get_command(build())
    about = (
        "Exit codes: 0 done, 1 failed, 2 wrong usage. Every verb has `--json`, with which errors are JSON on standard error. "
        "From `make reference`."
    )
    parts = [f"# Command line\n\n{about}\n"]
    for words, text in _helps(root, ("revelio",)):
        parts.append(f"{'#' * min(3, len(words) + 1)} {' '.join(words)}\n\n```text\n{text.rstrip()}\n```\n")
    return "\n".join(parts)


def settings_page() -> str:
    """One table for each group of settings."""
    intro = (
        "# Settings\n\nFrom `revelio.toml` (or the file that `REVELIO_CONFIG` names), then the environment, which wins. "
        "In the environment `__` stands between levels: `REVELIO_SYSTEMS__SHOP__WINDOW_S=60`. From `make reference`.\n"
    )
    return "\n".join(
        (
            intro,
            _table("General", Settings, "REVELIO_{}"),
            _table("A live system: `[systems.NAME]`", SystemSettings, "REVELIO_SYSTEMS__NAME__{}"),
            _table("A tool's backend: `[systems.NAME.backends.TOOL]`", Backend, "REVELIO_SYSTEMS__NAME__BACKENDS__TOOL__{}"),
            _table(
                "What discovery is not to find out itself: `[systems.NAME.backends.prometheus.profile]`",
                ProfileSettings,
                "REVELIO_SYSTEMS__NAME__BACKENDS__PROMETHEUS__PROFILE__{}",
            ),
            _table("Sign-in through an identity provider: `[oidc]`", OidcSettings, "REVELIO_OIDC__{}"),
            _table("Learning from feedback: `[learning]`", LearningSettings, "REVELIO_LEARNING__{}"),
            _table("Similar past incidents: `[retrieval]`", RetrievalSettings, "REVELIO_RETRIEVAL__{}"),
            _table("The Slack bot: `[slack]`", SlackSettings, "REVELIO_SLACK__{}"),
            _table("Alerts: `[alerts]`", AlertSettings, "REVELIO_ALERTS__{}"),
            _table("Telemetry: `[telemetry]`", TelemetrySettings, "REVELIO_TELEMETRY__{}"),
        )
    )


def _helps(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    context = command.make_context(" ".join(words), [], resilient_parsing=True, terminal_width=WIDTH, max_content_width=WIDTH)
    yield words, command.get_help(context)
    for name, inner in getattr(command, "commands", {}).items():
        if inner.hidden:
            continue
        yield from _helps(inner, (*words, name))


def _table(title: str, model: type[BaseModel], variable: str) -> str:
    rows = [f"## {title}\n", "| setting | in the environment | default | |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            continue  # a group, with a table of its own
        value = field.get_default(call_default_factory=False)
        rows.append(f"| `{name}` | `{variable.format(name.upper())}` | {_default(value)} | {field.description or ''} |")
    return "\n".join(rows) + "\n"


def _default(value: object) -> str:
    if value is PydanticUndefined:
        return "must be given"
    if isinstance(value, Path) and value.is_relative_to(BUNDLED):
        return f"`{value.relative_to(BUNDLED)}`, bundled"
    return f"`{value}`" if value or value == 0 else "empty"


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference")
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in pages().items():
        (folder / file).write_text(text, encoding="utf-8")
