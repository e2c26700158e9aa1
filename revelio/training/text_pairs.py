"""Pairs of texts that mean one thing, by kind: what the report encoder learns from.

Reports go with their symptom (the cell, ``system/feature/symptom``), never with a cause or the location of a fault.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from revelio.catalog import Catalog
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.training.alert_texts import read_alert_texts
from revelio.types import Blank, LogPattern, QueryTemplate, fill


class TextPair(NamedTuple):
    """What somebody says, and the text that it belongs to. Pairs of one group are held out together."""

    said: str
    meant: str
    group: str


TextPairs = dict[str, list[TextPair]]
"""Distinct pairs in a fixed order, by kind."""

MIN_PAIRS, MIN_TARGETS = 40, 4
"""A kind with fewer pairs, or fewer second texts, teaches nothing."""
MAX_PER_TARGET = 12
"""Pairs with the same second text: hundreds of log lines of one service would outweigh all else."""
_LEVELS = {"error": "error", "critical": "error", "fatal": "error", "warning": "warning", "warn": "warning"}


def text_pairs(incidents: Iterable[LabelledIncident], catalog: Catalog, files: Sequence[Path] = ()) -> TextPairs:
    """All kinds with enough pairs; none without reports or alerts. Raises ``DatasetError`` for a file without alerts."""
    found: dict[str, set[TextPair]] = {
        "reports": set(),
        "log lines": set(),
        "catalog": {_alone(_readable(t.shows, t), _readable(t.title, t)) for t in catalog.templates},
        "alerts": {pair for file in files for pair in _alerts(file)},
    }
    for incident in incidents:
        record = incident.record
        found["reports"] |= {_alone(r.text, symptom(r.cell)) for r in record.reports if r.cell}
        found["log lines"] |= {pair for line in record.evidence.logs for pair in _shown_by(line, catalog.templates)}
    told = {kind: _capped(p for p in pairs if p.said.strip() and p.meant.strip()) for kind, pairs in found.items()}
    enough = {k: pairs for k, pairs in told.items() if len(pairs) >= MIN_PAIRS and len({p.meant for p in pairs}) >= MIN_TARGETS}
    return enough if enough.keys() & {"reports", "alerts"} else {}


def symptom(cell: str) -> str:
    """``shop/checkout/wrong_data`` becomes ``checkout, wrong data``."""
    parts = (re.sub(r"#\d+$", "", part).replace("_", " ").strip() for part in cell.split("/")[1:] if part != "_site")
    return ", ".join(parts)


def _capped(pairs: Iterable[TextPair]) -> list[TextPair]:
    """At most so many pairs of each second text, chosen by hash, in order."""
    by_target: dict[str, list[TextPair]] = defaultdict(list)
    for pair in sorted(pairs, key=lambda p: hashlib.sha256(p.said.encode()).digest()):
        by_target[pair.meant].append(pair)
    return sorted(pair for some in by_target.values() for pair in some[:MAX_PER_TARGET])


def _shown_by(line: LogPattern, templates: Iterable[QueryTemplate]) -> Iterator[TextPair]:
    """A log line that reports a problem, with the titles of the queries for lines of its level and service."""
    level = _LEVELS.get(line.level.lower())
    for template in templates:
        match template.blanks:
            case (Blank(blank, "log_source"),) if level and any((r.source, r.metric) == ("logs", level) for r in template.reads):
                yield _alone(line.pattern, fill(template.title, ((blank, line.entity.name),)))


def _readable(text: str, template: QueryTemplate) -> str:
    return fill(text, tuple((b.name, f"the {b.name}") for b in template.blanks))


def _alerts(path: Path) -> Iterator[TextPair]:
    """Texts of alerts with their expressions, except those that tests are made of; the alerts of one subject are one group."""
    for alert in read_alert_texts(path):
        if not alert.held_back:
            yield from (TextPair(said, alert.query, alert.about) for said in (alert.text, *alert.others))


def _alone(said: str, meant: str) -> TextPair:
    return TextPair(said, meant, said)
