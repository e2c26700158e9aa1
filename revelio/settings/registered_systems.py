"""Systems that a command registered in this folder, one file each: ``var/systems.d/NAME.toml``, read with the settings."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from revelio.errors import InvalidInputError
from revelio.support.bounded_file import read_bounded

FOLDER = Path("var/systems.d")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def registered_systems(folder: Path = FOLDER) -> dict[str, dict[str, Any]]:
    """The content of ``[systems.NAME]`` by name; ``InvalidInputError`` names a file that is not TOML."""
    found = {}
    for path in sorted(folder.glob("*.toml")):
        try:
            found[path.stem] = tomllib.loads(read_bounded(path).decode("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidInputError(f"{path} cannot be read: {error}; correct or remove it") from error
    return found


def register(name: str, content: Mapping[str, Any], folder: Path = FOLDER) -> Path:
    """Write the system's file, tables after plain values; an earlier one of that name is replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.toml"
    temporary = path.with_suffix(".new")
    temporary.write_text("\n".join(_toml(content)) + "\n", encoding="utf-8")
    return temporary.replace(path)


def unregister(name: str, folder: Path = FOLDER) -> None:
    """Remove the system's file; nothing happens when there is none."""
    (folder / f"{name}.toml").unlink(missing_ok=True)


def _toml(content: Mapping[str, Any], table: str = "") -> list[str]:
    lines = [f"{key} = {json.dumps(value)}" for key, value in content.items() if not isinstance(value, Mapping)]
    for key, value in content.items():
        if isinstance(value, Mapping):
            name = table + (key if _BARE.fullmatch(key) else json.dumps(key))
            plain = any(not isinstance(inner, Mapping) for inner in value.values())
            lines += [*(["", f"[{name}]"] if plain else []), *_toml(value, f"{name}.")]
    return lines
