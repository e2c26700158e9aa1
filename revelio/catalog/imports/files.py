"""Imported questions on disk: a catalog file for each source, which remembers where it came from."""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from revelio.catalog import Catalog, load_catalog
from revelio.catalog.imports.question import ImportedQuestion, ImportResult, Kind
from revelio.errors import CatalogError, InvalidInputError, NotFoundError
from revelio.errors.redaction import redact_address
from revelio.support.bounded_file import read_bounded

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_HEAD = "# revelio import: "


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What one file holds: questions by their number, of which source, read when (Unix seconds), with which problems."""

    name: str
    kind: Kind
    source: str
    at: float
    questions: int
    problems: tuple[str, ...] = ()


def write(folder: Path, name: str, kind: Kind, source: str, found: ImportResult) -> ImportedFile:
    """Replace what was imported under that name; the file appears whole or not at all, and holds no secret of its source."""
    check_name(name)
    told = ImportedFile(name, kind, redact_address(source), time.time(), len(found.questions), found.problems)
    save(folder / f"{name}.yaml", _HEAD + json.dumps(asdict(told), ensure_ascii=True) + "\n" + text(name, found.questions))
    return told


def check_name(name: str) -> None:
    """``InvalidInputError`` where it cannot be the name of an import."""
    if not _NAME.fullmatch(name):
        raise InvalidInputError(f"{name[:40]!r} is no name of an import; use up to 40 letters, digits, - and _")


def save(path: Path, content: str) -> None:
    """Write a file whole or not at all; only its owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".writing-", delete=False, encoding="utf-8") as file:
        file.write(content)
    Path(file.name).replace(path)


def keep_address(folder: Path, name: str, address: str) -> None:
    """Keep an address that holds a secret, for the next reading, apart from what was read; any other is in the import itself."""
    place = _address_file(folder, name)
    if redact_address(address) == address:
        place.unlink(missing_ok=True)
    else:
        save(place, address)


def address_of(folder: Path, name: str) -> str:
    """Where an import came from, with its secrets; ``OSError`` or ``ValueError`` where neither file can be read."""
    place = _address_file(folder, name)
    if place.is_file():
        return read_bounded(place).decode("utf-8")
    return str(_told(folder / f"{name}.yaml")["source"])


def text(name: str, questions: Iterable[ImportedQuestion]) -> str:
    """The questions as a catalog file, one document for each tool."""
    tools: dict[str, list[dict[str, object]]] = {}
    for question in questions:
        tools.setdefault(question.tool, []).append(_template(question, name))
    documents = [{"tool": tool, "templates": templates} for tool, templates in tools.items()]
    return yaml.safe_dump_all(documents, sort_keys=False, allow_unicode=True, width=1_000)


def listed(folder: Path) -> tuple[ImportedFile, ...]:
    """What was imported, by name; a file that cannot be read has its problem."""
    return tuple(_head(path) for path in sorted(folder.glob("*.yaml")))


def remove(folder: Path, name: str) -> None:
    """Forget an import; ``NotFoundError`` when there is none of that name."""
    path = folder / f"{name}.yaml"
    if not _NAME.fullmatch(name) or not path.is_file():
        there = ", ".join(i.name for i in listed(folder)) or "none"
        raise NotFoundError(f"nothing was imported as {name[:40]!r}; there are: {there}")
    path.unlink()
    _address_file(folder, name).unlink(missing_ok=True)


def mark(folder: Path) -> tuple[tuple[str, int], ...]:
    """Changes whenever an import does."""
    return tuple((p.name, p.stat().st_mtime_ns) for p in sorted(folder.glob("*.yaml")))


def with_imports(catalog: Catalog, folder: Path) -> tuple[Catalog, tuple[str, ...]]:
    """The catalog with what was imported for its tools; a file that cannot be read is left out, and named."""
    troubles = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            if _head(path).questions:
                catalog = catalog.extended(load_catalog(path))
        except CatalogError as error:
            troubles.append(f"imported questions are left out: {error}")
    return catalog, tuple(troubles)


def _head(path: Path) -> ImportedFile:
    try:
        told = _told(path)
        source = redact_address(str(told["source"]))
        return ImportedFile(**{**told, "name": path.stem, "source": source, "problems": tuple(told["problems"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        return ImportedFile(path.stem, "rules", str(path), 0.0, 0, (f"{path} cannot be read: {error}; import it again",))


def _told(path: Path) -> dict[str, Any]:
    line = read_bounded(path).split(b"\n", 1)[0].decode("utf-8")
    told: dict[str, Any] = json.loads(line.removeprefix(_HEAD))
    return told


def _address_file(folder: Path, name: str) -> Path:
    return folder / ".addresses" / name


def _template(question: ImportedQuestion, name: str) -> dict[str, object]:
    about = " ".join("${" + blank + "}" for blank, _ in question.blanks)
    found: dict[str, object] = {
        "id": question.id(name),
        "title": f"{question.title} ({about})" if about else question.title,
        "shows": f"{question.shows} {question.credit}".strip(),
        "body": question.body,
        "origin": {"credit": question.credit, "url": question.url},
    }
    if question.blanks:
        found["blanks"] = dict(question.blanks)
    if question.tool == "prometheus":
        found["reads"] = [{"source": "series", "metric": question.id(name), "direction": "both"}]
    elif question.tool == "elasticsearch":
        found["reads"] = [{"source": "logs", "metric": ""}]
    return found
