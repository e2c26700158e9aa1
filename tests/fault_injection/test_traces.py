"""Nothing that the tools collected shows that somebody made the fault."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    for path in sorted(folder.iterdir()):
        with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as lines:
            for line in lines:
                record = json.loads(line)
                for text in texts([record["id"], record["evidence"], record["results"], record.get("notes")]):
                    seen.setdefault(text, path.name)
    assert telling_words("\n".join(seen)) == set(), {text: path for text, path in seen.items() if telling_words(text)}


def texts(value: object) -> Iterator[str]:
    """Every key and text inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, held in value.items():
            yield key
            yield from texts(held)
    elif isinstance(value, list):
        for held in value:
            if not isinstance(held, int | float):
                yield from texts(held)
