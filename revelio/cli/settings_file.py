"""The file that ``revelio init`` writes, and one that is there with what it lacks. What stands in a file stays as it is."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revelio.errors import InvalidInputError
from revelio.errors.redaction import public_address
from revelio.support.bounded_file import read_bounded
from revelio.support.private_file import private

if TYPE_CHECKING:
    from revelio.cli.discovery import FoundBackend, NamedProject

_HEAD = """# Settings of Revelio, written by `revelio init`. All there are: revelio docs settings.
# The environment wins over this file: REVELIO_PORT=9000, REVELIO_SYSTEMS__NAME__WINDOW_S=60.

# host = "127.0.0.1"
# port = 8000
# database = "sqlite:///var/revelio.db"
"""
_SYSTEM = """
[systems.{name}]
{why}project = {project}   # a project or namespace in Prometheus narrows to it; logs are in the index logs-PROJECT
# window_s = 600.0      # seconds before a report that count as the incident; by the scrape interval when not set
# baseline_s = 3600.0   # seconds before those that count as normal; likewise
"""
_PROFILE = """# Discovery finds these out; set one where it is wrong, below [systems.{name}.backends.prometheus.profile]:
# scrape_interval_s = 15.0   component = "service"   selector = 'namespace="shop"'   names = {{"10.0.3.7" = "cart"}}
"""
_ABSENT = "when this was written"
"""The end of the note above a backend that stands in the file as a comment."""


@dataclass(frozen=True, slots=True)
class Extended:
    """A file's text with what it lacked, and by the name of each source that was found what became of it."""

    text: str
    done: Mapping[str, str]


def settings_text(name: str, project: NamedProject, found: Sequence[FoundBackend]) -> str:
    """A whole file. Backends that were not found, or that lack something, stand in it as comments."""
    return _HEAD + _system(name, project) + "".join(_block(name, one) for one in found)


def read(path: Path) -> tuple[str, dict[str, Any]]:
    """A settings file, as text and as its systems by name; ``InvalidInputError`` where it is none."""
    try:
        text = read_bounded(path).decode("utf-8")
        systems = tomllib.loads(text).get("systems", {})
        if not isinstance(systems, dict) or not all(isinstance(one, dict) for one in systems.values()):
            raise ValueError("its systems are no tables")
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}; --force replaces it, --out writes elsewhere") from error
    return text, systems


def extended(text: str, systems: Mapping[str, Any], name: str, project: NamedProject, found: Sequence[FoundBackend]) -> Extended:
    """A file that is there with the backends that its system lacks; a system that it lacks is added.

    Raises ``InvalidInputError`` where the file is written so that nothing can be added.
    """
    backends = systems.get(name, {}).get("backends", {})
    added, done = ("" if name in systems else _system(name, project)), dict[str, str]()
    for one in found:
        alike = (n for n, b in backends.items() if b.get("url") == one.url and _is(one.tool, n, b))
        same = one.name if one.name in backends else next(alike, "")
        if same:
            url = backends[same].get("url", "")
            done[one.name] = f"kept as {same}" if same != one.name else "kept" if url == one.url else f"kept, with its url {url}"
        elif one.up or name not in systems:
            text, was = _without_note(text, name, one.name)
            if was and one.up:
                done[one.name] = "kept as a comment"
            else:
                added += _block(name, one)
                done[one.name] = "added" if one.up else "absent"
    whole = f"{text.rstrip(chr(10))}\n{added}" if added else text
    try:
        tomllib.loads(whole)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"nothing can be added to this file ({error}); put this into it by hand:\n{added}") from error
    return Extended(whole, done)


def write(path: Path, text: str) -> None:
    """Write it whole or not at all; only its owner may read it."""
    path = path.resolve()
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "w", encoding="utf-8", opener=private) as file:
            file.write(text)
        beside.replace(path)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error.strerror}") from error


def quoted(text: str) -> str:
    """A string as TOML writes it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _is(product: str, name: str, backend: Mapping[str, Any]) -> bool:
    """Whether a backend of a file is of that product."""
    return product == (backend.get("product") or name) or name.startswith(f"{product}-")


def _system(name: str, project: NamedProject) -> str:
    why = f"# {_one_line(project.reason)}\n" if project.reason else ""
    return _SYSTEM.format(name=quoted(name), project=quoted(project.name or name), why=why)


def _head(name: str, backend: str) -> str:
    return f"[systems.{quoted(name)}.backends.{backend}]"


def _block(name: str, one: FoundBackend) -> str:
    """The table of one backend."""
    mark = "" if one.up else "# "
    note = "; ".join(part for part in (one.detail, one.why) if part) if one.up else f"{one.detail} {_ABSENT}"
    lines = [f"\n# {_one_line(note)}\n{mark}{_head(name, one.name)}\n", *(f"{mark}{setting}\n" for setting in _settings(one))]
    return "".join([*lines, _PROFILE.format(name=quoted(name))] if one.tool == "prometheus" else lines)


def _settings(one: FoundBackend) -> Iterator[str]:
    yield f"url = {quoted(one.url)}"
    if one.page:
        yield f"link = {quoted(public_address(one.url))}   # as a browser reaches it, for links"
    for setting, value in one.settings.items():
        told = "" if value else "   # the uid of the data source; Grafana wants a login before it tells"
        yield f"{'' if value else '# '}{setting} = {quoted(value)}{told}"


def _without_note(text: str, name: str, backend: str) -> tuple[str, bool]:
    """The text without the comment that says that a backend was absent; and whether it stands in a comment that a person made."""
    lines = text.splitlines(keepends=True)
    for place, line in enumerate(lines):
        if line.lstrip("# ").strip() == _head(name, backend):
            if place == 0 or not lines[place - 1].rstrip().endswith(_ABSENT):
                return text, True
            end = next((n for n in range(place, len(lines)) if not lines[n].startswith("#")), len(lines))
            return "".join([*lines[: place - 1], *lines[end:]]), False
    return text, False


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
