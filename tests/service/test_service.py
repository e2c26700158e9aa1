"""The one door for pages, API and command line: what it accepts, what it refuses, what it says when a source is silent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from revelio.catalog import bundled_catalog
from revelio.errors import ArtifactError, InvalidInputError, NotFoundError, SourceError
from revelio.ranker.rank_change import RankChange
from revelio.ranker.recommender import RankedCandidates
from revelio.service import Service
from revelio.service.request import RecommendRequest
from revelio.settings import Backend, Settings, SystemSettings
from revelio.systems.incidents.exchange import write_records
from revelio.systems.system import System
from revelio.tools.base import Scope
from revelio.types import Entity, Evidence, Finding, Incident, Query, RankedQuery, RecordedResult, Result
from tests.systems.incidents.made import record

STATE = "containers.state"


class FirstFirst:
    """A recommender that ranks candidates as they come."""

    model = "made"
    findings: tuple[Finding, ...] = ()

    catalog = bundled_catalog()

    def candidates(self, incident: Incident) -> tuple[Query, ...]:
        template = self.catalog.template(STATE)
        return tuple(Query(template, (("container", e.name),)) for e in incident.evidence.entities if e.kind == "container")

    def rank(self, incident: Incident, queries: tuple[Query, ...], k: int = 5) -> RankedCandidates:
        ranked = tuple(RankedQuery(q, i, 1.0 / len(queries), ()) for i, q in enumerate(queries[:k], 1))
        return RankedCandidates(ranked, 0.1)

    def rerank(
        self, incident: Incident, kept: Sequence[RankedQuery], k: int = 5
    ) -> tuple[RankedCandidates, tuple[RankChange, ...]]:
        self.findings = incident.findings
        late = self.find(incident, "late")
        moves = (*(RankChange(q.rank, "why") for q in kept), RankChange(17, "came up"))
        return RankedCandidates((*kept, late), 0.6), moves

    def find(self, incident: Incident, query_id: str) -> RankedQuery:
        return RankedQuery(Query(bundled_catalog().template(STATE), (("container", query_id),)), 17, 0.01, ())


class Silent:
    """A tool whose backend saw the snapshot but answers no query."""

    name = "containers"
    retrospective = False

    def ping(self) -> str:
        raise SourceError(self.name, "is away")

    def snapshot(self, scope: Scope) -> Evidence:
        return Evidence(scope.window, scope.baseline, (Entity("container", "cart"),))

    def render(self, query: Query, scope: Scope) -> str:
        return "inspect cart"

    def link(self, query: Query, scope: Scope) -> str | None:
        return None

    def run(self, query: Query, scope: Scope) -> Result:
        raise SourceError(self.name, "is away")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    results = (RecordedResult(STATE, (("container", "cart"),), Result("cart is paused", 1.0, "not running")),)
    write_records(tmp_path / "incidents" / "a1.jsonl.xz", [replace(record("a1"), results=results)])
    shop = SystemSettings(backends={"containers": Backend(url="unix:///nowhere.sock")})
    database = f"sqlite:///{tmp_path}/revelio.db"
    return Settings(incidents=tmp_path / "incidents", systems={"shop": shop}, model=tmp_path / "none", database=database)


@pytest.fixture
def service(settings: Settings) -> Service:
    return Service(settings, recommender=FirstFirst())  # type: ignore[arg-type]


def test_a_recorded_incident_is_ranked_rendered_and_run_from_its_recording(service: Service) -> None:
    answer = service.rank(RecommendRequest("my basket hangs", incident="a1", run=5))
    first = answer.queries[0]
    assert first.text and "cart" in first.text
    assert first.result is not None and first.result.summary == "cart is paused"
    assert service.run_query(answer.incident, first.query) == first.result


def test_only_what_a_backend_answered_is_a_finding_and_what_comes_up_can_be_read(settings: Settings) -> None:
    recommender = FirstFirst()
    service = Service(settings, recommender=recommender)  # type: ignore[arg-type]
    answer = service.rank(RecommendRequest("my basket hangs", incident="a1", run=5))
    failed = Result.failed("it is away")
    first = answer.queries[0]
    kept = replace(answer, queries=(first, replace(first, query=recommender.find(answer.incident, "dead").query, result=failed)))
    anew = service.rerank(kept, 2).recommendation
    assert recommender.findings == (Finding(STATE, first.query.bindings, 1.0),)
    assert (anew.queries[0], anew.no_fault_probability) == (first, 0.6)
    assert "late" in anew.queries[-1].text
    assert "late" in service.find(answer, "late").text


def test_warming_up_ranks_the_latest_incident_of_each_recorded_system_and_keeps_nothing(settings: Settings) -> None:
    seen: list[str] = []

    class Noting(FirstFirst):
        def rank(self, incident: Incident, queries: tuple[Query, ...], k: int = 5) -> RankedCandidates:
            seen.append(incident.id)
            return super().rank(incident, queries, k)

    newer = replace(record("a2"), opened_at=record("a1").opened_at + 60)
    elsewhere = replace(record("b1"), system="forum")
    write_records(settings.incidents / "a2.jsonl.xz", [newer])
    write_records(settings.incidents / "b1.jsonl.xz", [elsewhere])
    service = Service(settings, recommender=Noting())  # type: ignore[arg-type]
    service.warm_up()
    assert sorted(seen) == ["a2", "b1"]
    assert service.store.history() == ()


def test_warming_up_without_a_model_changes_nothing(settings: Settings) -> None:
    service = Service(settings)
    service.warm_up()
    assert service.troubles()


@pytest.mark.parametrize("report", ["", "   \n", "x" * 30_000, "a\x00b"])
def test_an_unusable_report_is_refused_in_words(service: Service, report: str) -> None:
    with pytest.raises(InvalidInputError, match=r"report|too long"):
        service.rank(RecommendRequest(report, incident="a1"))


@pytest.mark.parametrize("k", [0, -1, 51])
def test_k_has_bounds(service: Service, k: int) -> None:
    with pytest.raises(InvalidInputError, match="1 to 50"):
        service.rank(RecommendRequest("slow", incident="a1", k=k))


def test_an_unknown_incident_or_system_is_answered_with_those_there_are(service: Service) -> None:
    with pytest.raises(NotFoundError, match="a1"):
        service.rank(RecommendRequest("slow", incident="zz"))
    with pytest.raises(NotFoundError, match="shop"):
        service.rank(RecommendRequest("slow", system="zz"))
    with pytest.raises(InvalidInputError, match="a live system or a recorded incident"):
        service.rank(RecommendRequest("slow"))


def test_a_source_that_is_down_is_named_and_nothing_is_made_up(service: Service) -> None:
    answer = service.rank(RecommendRequest("slow", system="shop"))
    assert answer.degraded == ("containers",)
    assert answer.queries == ()


def test_a_source_that_fails_when_a_query_is_run_is_named_too(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(name: str, settings: SystemSettings, catalog: object, timeout_s: float) -> System:
        tools: Mapping[str, Silent] = {"containers": Silent()}
        return System(name, settings, bundled_catalog(), tools)

    monkeypatch.setattr("revelio.service.service.open_system", opened)
    answer = service.rank(RecommendRequest("slow", system="shop", run=5))
    assert answer.degraded == ("containers",)
    assert answer.queries[0].result is not None and "is away" in (answer.queries[0].result.error or "")


def test_a_missing_model_is_said_at_the_first_question_and_at_every_other(settings: Settings) -> None:
    service = Service(settings)
    for _ in range(2):
        with pytest.raises(ArtifactError, match="revelio train"):
            service.rank(RecommendRequest("slow", incident="a1"))
