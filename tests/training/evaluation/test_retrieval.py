"""Retrieval is measured against other incidents only, and on pairs that hold what they should."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from revelio.encoders.report import Floats, HashingEncoder, OnnxEncoder
from revelio.errors import DatasetError
from revelio.retrieval import IncidentVectors
from revelio.settings import BUNDLED
from revelio.systems.incidents.dataset import open_dataset
from revelio.systems.incidents.exchange import FaultRecord, Record
from revelio.training.evaluation.retrieval import OTHER, NearestCause, found_queries, ndcg, nearest_causes
from revelio.types import Incident, Recommendation, StateChange
from tests.training.evaluation import made

PAIRS = os.environ.get("REVELIO_TEXT_TO_QUERY", "")
ENCODER = HashingEncoder()


def faulty(name: str, kind: str, change: str, report: str, system: str = "shop", run: str = "", split: str = "repeat") -> Record:
    record = made.record(name, split, "cart", (("w6", report),))
    changed = StateChange(record.evidence.entities[0], 61.0, change, "a", "b")
    fault = FaultRecord(kind, "resource", "cart", "hard")
    return replace(record, system=system, run=run, fault=fault, evidence=replace(record.evidence, changes=(changed,)))


def bare(incident: Incident) -> Recommendation:
    return Recommendation(incident, (), 0.1, "none")


@pytest.fixture
def measured(tmp_path: Path) -> Callable[..., dict[tuple[str, str], NearestCause]]:
    def measure(*records: Record) -> dict[tuple[str, str], NearestCause]:
        data = open_dataset(made.dataset(tmp_path / "data", *records))
        found = nearest_causes(data, made.catalog(tmp_path), bare, IncidentVectors(ENCODER, {}))
        return {(one.method, one.among): one for one in found}

    return measure


def test_causes_are_told_apart_by_evidence_where_reports_mislead(
    measured: Callable[..., dict[tuple[str, str], NearestCause]],
) -> None:
    found = measured(
        faulty("a1", "cpu", "limit", "checkout is slow"),
        faulty("a2", "cpu", "limit", "the page hangs"),
        faulty("b1", "deploy", "image", "checkout is slow"),
        faulty("b2", "deploy", "image", "the page hangs"),
    )
    assert found["retrieval", "all"].same_cause == 1.0
    assert found["report", "all"].same_cause == found["bm25", "all"].same_cause == 0.0
    assert found["retrieval", "others"].same_cause == 0.0  # there is no other system


def test_an_incident_of_the_same_run_is_no_past_incident(measured: Callable[..., dict[tuple[str, str], NearestCause]]) -> None:
    found = measured(faulty("a1", "cpu", "limit", "slow", run="r"), faulty("a2", "cpu", "limit", "slow", run="r"))
    assert {one.same_cause for one in found.values()} == {0.0}


def test_a_dataset_without_a_fault_is_an_error(tmp_path: Path) -> None:
    data = open_dataset(made.dataset(tmp_path / "data", made.record("a1", "repeat")))
    with pytest.raises(DatasetError, match="no incident with a fault"):
        nearest_causes(data, made.catalog(tmp_path), bare, IncidentVectors(ENCODER, {}))


def test_gains_count_the_first_ten_and_the_ideal_order_is_one() -> None:
    scores = np.arange(20.0)[::-1]
    assert ndcg(scores, {0, 1}) == pytest.approx(1.0)
    assert ndcg(scores, {15}) == 0.0
    assert ndcg(scores, {1}) == pytest.approx(1.0 / np.log2(3))


def test_pairs_are_read_packed_or_not_and_split_by_subject(tmp_path: Path) -> None:
    pairs = [
        {"text": f"the {name} of the host is too high", "query": f"host_{name}_total > 5", "about": name}
        for name in ("memory", "load", "disk", "traffic", "swap", "inode", "fans", "heat")
    ]
    lines = "".join(json.dumps(pair) + "\n" for pair in pairs)
    (tmp_path / "p.jsonl").write_text(lines)
    (tmp_path / "p.jsonl.xz").write_bytes(lzma.compress(lines.encode()))
    found = found_queries(tmp_path / "p.jsonl", ENCODER)
    assert found == found_queries(tmp_path / "p.jsonl.xz", ENCODER)
    assert sum(one.texts for one in found if one.method == "bm25") == len(pairs)
    assert all(one.ndcg10 == pytest.approx(1.0) for one in found if one.method == "bm25")


@pytest.mark.parametrize("content", [None, "{", '{"text": "x"}'])
def test_pairs_that_are_none_are_told_with_their_file(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "pairs.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DatasetError, match=r"pairs\.jsonl"):
        found_queries(path, ENCODER)


@pytest.mark.skipif(not PAIRS, reason="REVELIO_TEXT_TO_QUERY names no file of pairs; they are not part of this repository")
def test_words_and_meaning_together_find_more_queries_than_either() -> None:
    encoder = OnnxEncoder(BUNDLED / "model" / "report.onnx", BUNDLED / "model" / "tokenizer.json")
    found = {(one.part, one.method): one.ndcg10 for one in found_queries(Path(PAIRS), encoder)}
    for part in ("chosen_on", "test"):
        assert found[part, "retrieval"] > max(found[part, "bm25"], found[part, "cosine"])


def test_a_second_encoder_is_measured_beside_the_first(tmp_path: Path) -> None:
    records = (
        faulty("a1", "cpu", "limit", "checkout is slow"),
        faulty("a2", "cpu", "limit", "checkout is slow today"),
        faulty("b1", "deploy", "image", "no pictures"),
    )
    data = open_dataset(made.dataset(tmp_path / "data", *records))
    first, second = IncidentVectors(ENCODER, {}), IncidentVectors(Blind(), {})
    found = nearest_causes(data, made.catalog(tmp_path), bare, first, other=second)
    shares = {one.method: one.same_cause for one in found if one.among == "all"}
    assert shares["report"] == pytest.approx(2 / 3)
    assert shares[f"report{OTHER}"] < shares["report"]
    assert shares[f"retrieval{OTHER}"] == shares["retrieval"]

    (tmp_path / "p.jsonl").write_text(json.dumps({"text": "heat too high", "query": "heat > 5", "about": "heat"}))
    methods = [one.method for one in found_queries(tmp_path / "p.jsonl", ENCODER, Blind())]
    assert sorted(methods) == sorted(["bm25", "cosine", "retrieval", f"cosine{OTHER}", f"retrieval{OTHER}"])


class Blind(HashingEncoder):
    """Sees no difference but for "pictures", which it takes for "slow today"."""

    def encode(self, texts: Sequence[str]) -> Floats:
        return super().encode(["a" if "pictures" in t or "today" in t else "b" for t in texts])
