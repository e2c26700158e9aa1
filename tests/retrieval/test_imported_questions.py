"""A team's own questions are found by what the report means, where no evidence speaks for them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from revelio.catalog import load_catalog
from revelio.catalog.candidates import candidates
from revelio.catalog.imports.files import save, text
from revelio.catalog.imports.question import Collector
from revelio.catalog.imports.runbooks import read_runbook
from revelio.encoders.query import EncodedIncident, QueryEncoder
from revelio.encoders.report import HashingEncoder, OnnxEncoder
from revelio.ranker.retrieved import by_report
from revelio.ranker.scoring import Calibration, Logits, Ranking, rank
from revelio.retrieval.imported_questions import ImportedQuestions, lexical_index, words
from revelio.settings import BUNDLED
from revelio.types import Entity, Evidence, Incident, Query, Series, Window

RUNBOOKS = Path(__file__).parent / "runbooks"
ENTITIES = (Entity("label:namespace", "shop"), Entity("label:queue", "basket"))
NOTHING = Evidence(Window(1_000.0, 1_600.0), Window(0.0, 1_000.0), ENTITIES)
ENCODER = HashingEncoder()


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> tuple[Query, ...]:
    """Every question of the runbooks, as a catalog of imports gives them."""
    found = Collector()
    for path in sorted(RUNBOOKS.glob("*.md")):
        read_runbook(path.read_text(encoding="utf-8"), path.name, found)
    file = tmp_path_factory.mktemp("imported") / "team.yaml"
    save(file, text("team", found.found().questions))
    return candidates(load_catalog(file), ENTITIES)


@cache
def report_encoder() -> OnnxEncoder:
    """The bundled one."""
    return OnnxEncoder(BUNDLED / "model" / "report.onnx", BUNDLED / "model" / "tokenizer.json")


def encoded(queries: tuple[Query, ...], report: str) -> tuple[EncodedIncident, Ranking]:
    """A question, and a ranking that knows nothing: each tool, template and binding as likely as the next."""
    shapes = QueryEncoder(ENCODER, {}, {}).encode(asked(report), queries, ENCODER.encode([report])[0])
    tool, template, value = (np.zeros(len(some), dtype=np.float32) for some in (shapes.tools, shapes.templates, queries))
    return shapes, rank(shapes, Logits(tool, template, value, 0.0), Calibration())


def asked(report: str, evidence: Evidence = NOTHING) -> Incident:
    return Incident("i", "shop", report, 1_600.0, evidence)


def scores(report: str, queries: tuple[Query, ...], evidence: Evidence = NOTHING) -> np.ndarray | None:
    return ImportedQuestions(ENCODER).scores(asked(report, evidence), queries, ENCODER.encode([report])[0])


@pytest.mark.parametrize(
    ("report", "runbook"),
    [
        ("my orders arrive hours late, baskets show yesterday's items", "BasketQueueBacklog"),
        ("we cannot save anything any more, the disk has no space", "DiskAlmostFull"),
        ("the app shows a security warning about our certificate", "CertificateExpiresSoon"),
        ("pods keep restarting after the rollout", "ContainerRestartsOften"),
        ("services do not find each other, name resolution is broken", "NameLookupsFail"),
    ],
)
def test_without_evidence_the_report_finds_the_runbook(queries: tuple[Query, ...], report: str, runbook: str) -> None:
    encoder = report_encoder()
    found = ImportedQuestions(encoder).scores(asked(report), queries, encoder.encode([report])[0])
    shapes, unknowing = encoded(queries, report)
    ranking = by_report(unknowing, shapes, found)
    first = queries[int(ranking.order(1)[0])]
    assert first.title.startswith(runbook)
    assert np.exp(ranking.log_probability.astype(float)).sum() == pytest.approx(1.0, abs=1e-4)


def test_without_a_report_nothing_is_retrieved(queries: tuple[Query, ...]) -> None:
    assert scores("  ", queries) is None


def test_questions_that_evidence_speaks_for_are_left_to_the_model(queries: tuple[Query, ...]) -> None:
    read = next(q for q in queries if q.template.reads)
    metric = read.template.reads[0].metric
    seen = replace(NOTHING, series=(Series(ENTITIES[0], metric, "", (1.0,), (1.0,)),))
    found = scores("the disk is full", queries, seen)
    assert found is not None
    assert {q.template.id for q, score in zip(queries, found, strict=True) if np.isnan(score)} == {read.template.id}


def test_bundled_questions_get_no_score_and_their_probability_stays(queries: tuple[Query, ...]) -> None:
    bare = replace(queries[0], template=replace(queries[0].template, id="own", origin=None))
    mixed, report = (*queries, bare), "the disk is full"
    found = scores(report, mixed)
    assert found is not None and np.isnan(found[-1]) and not np.isnan(found[:-1]).any()
    shapes, without = encoded(mixed, report)
    with_it = by_report(without, shapes, found)
    assert with_it.log_probability[-1] == pytest.approx(without.log_probability[-1], abs=1e-4)
    assert not np.allclose(with_it.log_probability, without.log_probability)
    assert by_report(without, shapes, None) is without


def test_names_are_found_by_their_words() -> None:
    assert words("KubePodCrashLooping: kube_pod_status{a=1}") == ["kube", "pod", "crash", "looping", "kube", "pod", "status", "1"]


@pytest.mark.parametrize("texts", [["", ""], ["one"], ["!!", "two words"]])
def test_any_texts_can_be_indexed(texts: list[str]) -> None:
    index = lexical_index(texts)
    assert len(index.get_scores([w for w in words("two") if w in index.vocab_dict] or ["\0"])) == len(texts)


def test_a_report_without_a_shared_word_is_no_error(queries: tuple[Query, ...]) -> None:
    for report in ("???", "ärger 🐌", "x" * 5_000):
        found = scores(report, queries)
        assert found is not None and np.isfinite(found).all()
