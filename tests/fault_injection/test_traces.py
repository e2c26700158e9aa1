"""Nothing that the tools collected shows that somebody made the fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from revelio.incidents.exchange import read_records
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
    for record in read_records(folder):
        assert telling_words(repr((record.id, record.evidence, record.results, record.notes))) == set(), record.id
