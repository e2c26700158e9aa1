"""A user's words for what users saw: chosen by what they saw, never by what was changed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import yaml

from revelio.systems.incidents.exchange import Report
from tests.foreign.application import Application
from tests.foreign.users import Seen

TEXTS: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def reports(app: Application, incident: str, seen: Seen) -> tuple[Report, ...]:
    """Two texts, the same ones each time for the same incident and symptom."""
    texts = TEXTS[seen.symptom]
    first = int.from_bytes(hashlib.sha256(incident.encode()).digest()[:4]) % len(texts)
    chosen = [texts[(first + i) % len(texts)] for i in (0, 2)]
    page = app.words.get(seen.feature, "the site")
    filled = [t.format(page=page, seconds=f"{seen.seconds:.0f}", status=seen.status or "").replace(" ()", "") for t in chosen]
    return tuple(Report(text, "foreign", f"{app.name}/{seen.feature or '_site'}/{seen.symptom}") for text in filled)
