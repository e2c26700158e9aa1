"""Alerts as public rules tell them: texts beside the expressions that show what they say, as JSON Lines, packed by xz or not."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from revelio.errors import DatasetError


@dataclass(frozen=True, slots=True)
class AlertText:
    """One expression (``query``), what was written about it, and the subject (``about``) that it belongs to."""

    text: str
    query: str
    about: str
    others: tuple[str, ...] = ()
    """The alert's title and further texts of the same expression."""
    source: str = ""
    licence: str = "licence unknown"

    @property
    def held_back(self) -> bool:
        """Whether the alerts about this subject are for tests only: half of the subjects, by hash."""
        return int(hashlib.sha256(self.about.encode()).hexdigest(), 16) % 2 == 1


def read_alert_texts(path: Path) -> Iterator[AlertText]:
    """The alerts of a file; ``text``, ``query`` and ``about`` are needed. Raises ``DatasetError`` for another file."""
    try:
        with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
            for line in file:
                alert = json.loads(line)
                text, query, about = (str(alert[name]) for name in ("text", "query", "about"))
                others = (str(alert.get("title") or ""), *map(str, alert.get("also") or ()))
                source, licence = str(alert.get("source", path.name)), str(alert.get("licence", "licence unknown"))
                yield AlertText(text, query, about, tuple(filter(str.strip, others)), source, licence)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, lzma.LZMAError) as error:
        raise DatasetError(
            f"{path}: not a file of alerts ({error!r}); --pairs takes JSON Lines, each with `text`, `query` and `about`"
        ) from error


def sources(files: Iterable[Path]) -> tuple[str, ...]:
    """Where the alerts of the files come from, each with its licence."""
    return tuple(sorted({f"{alert.source} ({alert.licence})" for file in files for alert in read_alert_texts(file)}))
