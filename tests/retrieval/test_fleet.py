"""In large fleets, what telemetry shows is always asked about, and what the report names as well."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from revelio.catalog.candidates import Inventory, candidates, inventory
from revelio.encoders.report import HashingEncoder
from revelio.ranker.recommender import Recommender
from revelio.retrieval.fleet import LARGEST, Fleets, by_anomaly, index_names
from revelio.types import Entity, Evidence, Incident, Series, Window
from tests.catalog.test_candidates import catalog, template

WORDS = HashingEncoder()
NAMES = tuple(f"{name}-{n:04d}" for n, name in enumerate(("cart", "billing", "search", "ledger", "mail") * 500))
ASKED = catalog(*(template(f"t{n}", service="service") for n in range(8)), template("calls", service="service", peer="service"))


class FakeRanker:
    """As much of a ranker as choosing candidates takes."""

    @property
    def encoder(self) -> FakeRanker:
        return self

    words, noise = WORDS, dict[str, float]()


@cache
def evidence(hot: str = "", components: int = len(NAMES)) -> Evidence:
    """A chain of components that are all calm, but for one."""
    times, names = tuple(float(t) for t in range(0, 90, 5)), NAMES[:components]
    series = tuple(
        Series(Entity("service", n), "cpu", "", times, tuple(9.0 if n == hot and t >= 60 else 1.0 for t in times)) for n in names
    )
    edges = tuple(Entity("edge", f"{a}->{b}") for a, b in itertools.pairwise(names))
    return Evidence(Window(60.0, 90.0), Window(0.0, 60.0), (*(Entity("service", n) for n in names), *edges), series)


def chosen(report: str, seen: Evidence, words: HashingEncoder | None = WORDS) -> Inventory:
    return Fleets(ASKED, words, {}).chosen(inventory(seen), Incident("i", "fleet", report, 90.0, seen))


def named(there: Inventory) -> set[str]:
    return {entity.name for entity in there.entities if entity.kind == "service"}


@pytest.mark.parametrize(("components", "all_asked"), [(LARGEST // 9, True), (LARGEST // 9 + 1, False), (len(NAMES), False)])
def test_up_to_the_limit_everything_is_asked_about(components: int, all_asked: bool) -> None:
    incident = Incident("i", "fleet", "mail is late", 90.0, evidence("cart-0000", components))
    everything = candidates(ASKED, inventory(incident.evidence))
    asked = Recommender(FakeRanker(), ASKED).candidates(incident)  # type: ignore[arg-type]
    assert (asked == everything) == all_asked == (len(everything) <= LARGEST)
    assert len(asked) <= LARGEST


@pytest.mark.parametrize("hot", ["cart-0000", "ledger-0873", "mail-2499"])
def test_the_most_anomalous_component_is_asked_about_whatever_the_words_say(hot: str) -> None:
    there = chosen("billing-0001 and billing-0006 are slow, billing-0011 as well", evidence(hot))
    assert hot in named(there)
    assert 0.8 * LARGEST <= len(candidates(ASKED, there)) <= LARGEST


def test_a_component_that_the_report_names_is_asked_about_with_its_callers() -> None:
    there = chosen("search-2322 finds nothing", evidence("cart-0000"))
    assert {"cart-0000", "search-2322"} <= named(there)
    assert Entity("edge", "billing-2321->search-2322") in there.entities


@pytest.mark.parametrize("words", [WORDS, None])
def test_without_words_evidence_alone_chooses(words: HashingEncoder | None) -> None:
    there = chosen("", evidence("mail-2499"), words)
    assert "mail-2499" in named(there)
    assert len(candidates(ASKED, there)) <= LARGEST


def test_the_same_incident_is_asked_the_same() -> None:
    seen = evidence("mail-2499")
    assert chosen("mail is late", seen) == chosen("mail is late", seen)


def test_components_stand_in_order_of_their_anomaly() -> None:
    assert by_anomaly(evidence("ledger-0873"), {})[0] == "ledger-0873"
    assert by_anomaly(Evidence(Window(1.0, 2.0), Window(0.0, 1.0)), {}) == []


def test_nearest_names_are_exact() -> None:
    index, report = index_names(NAMES, WORDS), WORDS.encode(["the ledger forgets entries"])[0]
    cosines = WORDS.encode([name.replace("-", " ") for name in NAMES]) @ report
    found = index.nearest(report, 10)
    assert [score for _, score in found] == pytest.approx(np.sort(cosines)[::-1][:10].tolist(), abs=1e-5)
    assert all(name.startswith("ledger") for name, _ in found)
    assert index.nearest(np.zeros_like(report), 10) == []
    assert index_names((), WORDS).nearest(report, 3) == []
