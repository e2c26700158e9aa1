"""Nothing that the tools collected shows that somebody made the fault."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from revelio.systems.incidents.files import SUFFIXES
from tests.fault_injection.traces import telling_words

RECORDED = [p for p in sorted(Path("data").glob("*/incidents")) if p.is_dir()]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cpu_quota of cart", {"cpu_quota"}),
        ("running under chaos-agent, Fault 3", {"chaos", "Fault"}),
        ("default pool of revelio-shop", set()),
        ("revelio-agent", {"revelio"}),
        ("image revelio/shop:dev", set()),
        ("tcp_resets and dns_failures of web", set()),
        ("a tcp_reset here", {"tcp_reset"}),
    ],
)
def test_telling_words_are_found_and_harmless_ones_are_not(text: str, found: set[str]) -> None:
    assert telling_words(text) == found


@pytest.mark.parametrize("folder", RECORDED, ids=lambda p: p.parent.name)
def test_no_recorded_evidence_gives_its_fault_away(folder: Path) -> None:
    seen: dict[str, str] = {}
    """Each text of the evidence, and a file that holds it."""
    for path in sorted(p for p in folder.iterdir() if p.name.endswith(SUFFIXES)):
        with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as lines:
            for line in lines:
                record = json.loads(line)
                texts: set[str] = set()
                add_texts([record.get(part) for part in ("id", "evidence", "results", "notes")], texts)
                seen |= dict.fromkeys(texts - seen.keys(), path.name)
    assert len(seen) > 1_000
    assert telling_words("\n".join(seen)) == set(), {text: path for text, path in seen.items() if telling_words(text)}


def add_texts(value: object, found: set[str]) -> None:
    """Add every key and text inside a JSON value; the figures of a series are left out at once."""
    if isinstance(value, str):
        found.add(value)
    elif isinstance(value, dict):
        for key, held in value.items():
            found.add(key)
            if key not in ("times", "values") or not isinstance(held, list) or not held or isinstance(held[0], str | list | dict):
                add_texts(held, found)
    elif isinstance(value, list):
        for held in value:
            add_texts(held, found)
