"""Reads a team's own questions where they are: files, folders, and the HTTP APIs of Prometheus and Grafana."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import yaml

from revelio.catalog.imports.files import ImportedFile, address_of, check_name, keep_address, listed, write
from revelio.catalog.imports.grafana import read_dashboard
from revelio.catalog.imports.question import Collector, ImportResult, Kind
from revelio.catalog.imports.rules import read_rules
from revelio.catalog.imports.runbooks import read_runbook
from revelio.catalog.imports.searches import read_searches
from revelio.errors import InvalidInputError, SourceError
from revelio.errors.redaction import checked_address, public_address, redact_address, remember_address
from revelio.settings import Backend, Settings
from revelio.support.bounded_file import OversizedError, read_bounded
from revelio.tools.base import Limits
from revelio.tools.fetch import Fetcher

MOST_FILES = 2_000
MOST_DASHBOARDS = 1_000
MOST_QUESTIONS = 5_000
_ENDINGS = {
    "rules": (".yml", ".yaml", ".json", ".rules"),
    "grafana": (".json",),
    "runbooks": (".md", ".markdown"),
    "searches": (".ndjson", ".json"),
}
_LIMITS = Limits(seconds=20.0, bytes=20_000_000)


def import_questions(settings: Settings, kind: Kind, source: str, name: str = "") -> ImportedFile:
    """Read a source and keep its questions under a name, that of the source when none is given.

    Raises ``InvalidInputError`` for a source that is none, ``SourceError`` for a server that does not answer: what was
    imported before then stays. Files that cannot be read are problems, and the rest is imported.
    """
    name = name or default_name(kind, source)
    check_name(name)
    read = write(settings.imports.folder, name, kind, source, read_source(settings, kind, source, name))
    if name not in settings.imports.sources:
        keep_address(settings.imports.folder, name, source)
    return read


def refresh(settings: Settings, names: tuple[str, ...] = ()) -> Iterator[ImportedFile]:
    """Read again what was imported, all or some, and what the settings declare; a source that fails keeps its questions."""
    folder = settings.imports.folder
    known = {i.name: (i.kind, address_of(folder, i.name)) for i in listed(folder) if i.at}
    known |= {name: (declared.kind, declared.source) for name, declared in settings.imports.sources.items()}
    for name, (kind, source) in sorted(known.items()):
        if not names or name in names:
            try:
                yield import_questions(settings, kind, source, name)
            except (InvalidInputError, SourceError) as error:
                before = next((i for i in listed(folder) if i.name == name), None)
                shown = redact_address(source)
                yield ImportedFile(name, kind, shown, 0.0, before.questions if before else 0, (f"not refreshed: {error}",))


def default_name(kind: Kind, source: str) -> str:
    """A name for a source: its file, or its host."""
    on_server = source.startswith(("http://", "https://"))
    last = public_address(source).partition("://")[2].rstrip("/") if on_server else Path(source).stem
    return re.sub(r"[^A-Za-z0-9_-]+", "-", last).strip("-")[:40] or kind


def read_source(settings: Settings, kind: Kind, source: str, name: str = "") -> ImportResult:
    """The questions of a source and the problems with it; raises as ``import_questions``."""
    into = Collector()
    if source.startswith(("http://", "https://")):
        try:
            remember_address(checked_address(source))
        except ValueError as error:
            raise InvalidInputError(f"{redact_address(source)}: {error}") from None
        declared = settings.imports.sources.get(name)
        access = declared.access() if declared else {}
        fetcher = Fetcher(name or kind, Backend(**{**access, "url": source}), _LIMITS)
        try:
            _SERVERS[kind](fetcher, into) if kind in _SERVERS else _no_server(kind)
        finally:
            fetcher.close()
    else:
        _read_files(kind, Path(source), into)
    found = into.found()
    if len(found.questions) > MOST_QUESTIONS:
        left = len(found.questions) - MOST_QUESTIONS
        found = ImportResult(
            found.questions[:MOST_QUESTIONS], (*found.problems, f"{left} questions beyond {MOST_QUESTIONS:,} are left out")
        )
    return found


def _read_files(kind: Kind, path: Path, into: Collector) -> None:
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix.lower() in _ENDINGS[kind] and p.is_file())
        if not files:
            raise InvalidInputError(f"{path} holds no file that ends in {' or '.join(_ENDINGS[kind])}")
        if len(files) > MOST_FILES:
            into.problems.append(f"{path}: {len(files) - MOST_FILES} files beyond {MOST_FILES:,} are left out")
    elif path.is_file():
        files = [path]
    else:
        raise InvalidInputError(f"{path} is no file, folder or address")
    for file in files[:MOST_FILES]:
        where = str(file.relative_to(path)) if path.is_dir() else file.name
        try:
            _READERS[kind](read_bounded(file).decode("utf-8-sig"), where, into)
        except (OSError, ValueError, OversizedError, yaml.YAMLError, RecursionError) as error:
            into.problems.append(f"{where}: cannot be read: {str(error).splitlines()[0] if str(error) else type(error).__name__}")


def _rules_text(text: str, where: str, into: Collector) -> None:
    for document in yaml.safe_load_all(text):
        if document is not None:
            read_rules(document, where, into)


def _grafana_text(text: str, where: str, into: Collector) -> None:
    read_dashboard(json.loads(text), where, into)


_READERS: dict[Kind, Callable[[str, str, Collector], None]] = {
    "rules": _rules_text,
    "grafana": _grafana_text,
    "runbooks": read_runbook,
    "searches": read_searches,
}


def _rules_server(fetcher: Fetcher, into: Collector) -> None:
    page = public_address(fetcher.url)
    read_rules(fetcher.get("/api/v1/rules", {}), page, into, f"{page}/rules")


def _grafana_server(fetcher: Fetcher, into: Collector) -> None:
    found = fetcher.get("/api/search", {"type": "dash-db", "limit": str(MOST_DASHBOARDS)})
    if not isinstance(found, list):
        raise SourceError("grafana", f"{fetcher.url} does not answer like Grafana; is its address right?")
    for entry in found:
        uid, title = (str(entry.get(k) or "") for k in ("uid", "title")) if isinstance(entry, dict) else ("", "")
        try:
            read_dashboard(
                fetcher.get(f"/api/dashboards/uid/{quote(uid, safe='')}", {}), title or uid, into, public_address(fetcher.url)
            )
        except SourceError as error:
            into.problems.append(f"{title or uid}: {error.reason}")


_SERVERS: dict[Kind, Callable[[Fetcher, Collector], None]] = {"rules": _rules_server, "grafana": _grafana_server}


def _no_server(kind: Kind) -> None:
    raise InvalidInputError(f"{kind} are read from files and folders, not from an address")
