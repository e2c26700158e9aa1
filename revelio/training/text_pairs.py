"""Pairs of texts that mean one thing, by kind: what the report encoder learns from.

Reports go with their symptom (the cell, ``system/feature/symptom``), never with a cause or the location of a fault.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from revelio.catalog import Catalog
from revelio.errors import DatasetError
from revelio.incidents.dataset import LabelledIncident
from revelio.types import Blank, LogPattern, QueryTemplate, fill

TextPair = tuple[str, str]
"""What somebody says, and the text that it belongs to."""
TextPairs = dict[str, list[TextPair]]
"""Distinct pairs in a fixed order, by kind."""

MIN_PAIRS, MIN_TARGETS = 40, 4
"""A kind with fewer pairs, or fewer second texts, teaches nothing."""
_LEVELS = {"error": "error", "critical": "error", "fatal": "error", "warning": "warning", "warn": "warning"}


def text_pairs(incidents: Iterable[LabelledIncident], catalog: Catalog, files: Sequence[Path] = ()) -> TextPairs:
    """All kinds with enough pairs; none without reports or alerts. Raises ``DatasetError`` for a file without pairs."""
    found: dict[str, set[TextPair]] = {
        "reports": set(),
        "log lines": set(),
        "catalog": {(_readable(t.shows, t), _readable(t.title, t)) for t in catalog.templates},
        "alerts": {pair for file in files for pair in _alerts(file)},
    }
    for incident in incidents:
        record = incident.record
        found["reports"] |= {(r.text, symptom(r.cell)) for r in record.reports if r.cell}
        found["log lines"] |= {pair for line in record.evidence.logs for pair in _shown_by(line, catalog.templates)}
    told = {kind: sorted(p for p in pairs if all(map(str.strip, p))) for kind, pairs in found.items()}
    enough = {k: pairs for k, pairs in told.items() if len(pairs) >= MIN_PAIRS and len({b for _, b in pairs}) >= MIN_TARGETS}
    return enough if enough.keys() & {"reports", "alerts"} else {}


def symptom(cell: str) -> str:
    """``shop/checkout/wrong_data`` becomes ``checkout, wrong data``."""
    parts = (re.sub(r"#\d+$", "", part).replace("_", " ").strip() for part in cell.split("/")[1:] if part != "_site")
    return ", ".join(parts)


def held_back(about: str) -> bool:
    """Whether the alerts about a subject are for tests only: half of the subjects, by hash."""
    return int(hashlib.sha256(about.encode()).hexdigest(), 16) % 2 == 1


def _shown_by(line: LogPattern, templates: Iterable[QueryTemplate]) -> Iterator[TextPair]:
    """A log line that reports a problem, with the titles of the queries for lines of its level and service."""
    level = _LEVELS.get(line.level.lower())
    for template in templates:
        match template.blanks:
            case (Blank(blank, "log_source"),) if level and any((r.source, r.metric) == ("logs", level) for r in template.reads):
                yield line.pattern, fill(template.title, ((blank, line.entity.name),))


def _readable(text: str, template: QueryTemplate) -> str:
    return fill(text, tuple((b.name, f"the {b.name}") for b in template.blanks))


def sources(files: Iterable[Path]) -> tuple[str, ...]:
    """Where the alerts of the files come from, each with its licence."""
    found = {f"{a.get('source', file.name)} ({a.get('licence', 'licence unknown')})" for file in files for a in _lines(file)}
    return tuple(sorted(found))


def _alerts(path: Path) -> Iterator[TextPair]:
    """Descriptions and titles of alerts with their expressions."""
    for alert in _lines(path):
        if not held_back(alert["about"]):
            yield alert["text"], alert["query"]
            yield alert.get("title", ""), alert["query"]


def _lines(path: Path) -> Iterator[dict[str, str]]:
    """The alerts of a JSON Lines file, packed by xz or not."""
    try:
        with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
            for line in file:
                alert = json.loads(line)
                told = {name: str(alert[name]) for name in ("text", "query", "about")}
                yield told | {name: str(alert[name]) for name in ("title", "source", "licence") if name in alert}
    except (OSError, ValueError, KeyError, TypeError, lzma.LZMAError) as error:
        raise DatasetError(
            f"{path}: not a file of alerts ({error!r}); --pairs takes JSON Lines, each with `text`, `query` and `about`"
        ) from error
