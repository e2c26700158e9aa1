"""Every active setting: its value, with secrets hidden, and its source."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretBytes, SecretStr

from revelio.errors.redaction import is_secret, redact_address
from revelio.settings import Settings
from webui.i18n import gettext, gettext_noop

HIDDEN = gettext_noop("•••• (hidden)")


@dataclass(frozen=True, slots=True)
class ActiveSetting:
    """One setting. ``source`` is the variable, the file, "default" or "given at the start"."""

    name: str
    value: str
    source: str
    about: str

    @property
    def group(self) -> str:
        """What it belongs to: a system, or "" for the settings of the server itself."""
        parts = self.name.split(".")
        return parts[1] if parts[0] == "systems" and len(parts) > 1 else ""


def active_settings(settings: Settings, environment: Mapping[str, str] = os.environ) -> tuple[ActiveSetting, ...]:
    """All of them, flat, in the order of their declaration."""
    path = Path(environment.get("REVELIO_CONFIG", "revelio.toml"))
    written = _read(path)
    defaults = {leaf.name: leaf.value for leaf in _leaves(Settings.model_construct())}
    variables = {name.upper() for name in environment}
    return tuple(
        ActiveSetting(leaf.name, shown(leaf.name, leaf.value), _source(leaf, path, written, defaults, variables), leaf.about)
        for leaf in _leaves(settings)
    )


def shown(name: str, value: object) -> str:
    """The value for people to see: empty as "", a secret hidden, one within an address too."""
    if isinstance(value, (SecretStr, SecretBytes)):
        return gettext(HIDDEN) if value.get_secret_value() else ""
    text = _spelled(value)
    if text and not isinstance(value, bool) and is_secret(name.rpartition(".")[2]):
        return gettext(HIDDEN)
    return redact_address(text)


@dataclass(frozen=True, slots=True)
class _Leaf:
    name: str
    value: object
    about: str


def _spelled(value: object) -> str:
    """A value as people read it."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(map(str, value))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _leaves(model: BaseModel, prefix: str = "") -> Iterator[_Leaf]:
    for name, field in type(model).model_fields.items():
        yield from _within(f"{prefix}{name}", getattr(model, name), field.description or "")


def _within(name: str, value: object, about: str) -> Iterator[_Leaf]:
    if isinstance(value, BaseModel):
        yield from _leaves(value, f"{name}.")
    elif isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _within(f"{name}.{key}", inner, about)
    else:
        yield _Leaf(name, "" if isinstance(value, dict) else value, about)


def _source(leaf: _Leaf, path: Path, written: Mapping[str, Any], defaults: Mapping[str, object], variables: Iterable[str]) -> str:
    parts = leaf.name.split(".")
    for depth in range(len(parts), 0, -1):
        variable = "REVELIO_" + "__".join(parts[:depth]).upper()
        if variable in variables:
            return variable
    inner: Any = written
    for depth, part in enumerate(parts):
        if not isinstance(inner, Mapping) or part not in inner:
            if depth:
                return "default"
            break
        inner = inner[part]
    else:
        return str(path)
    # Neither the environment nor the file names it, yet it is not the default: an option of the command did that.
    return "default" if defaults.get(leaf.name, leaf.value) == leaf.value else "given at the start"


def _read(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
