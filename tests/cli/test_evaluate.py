"""``revelio eval`` on a made dataset."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from revelio.encoders.report import HashingEncoder, TextEncoder
from revelio.ranker.scoring import Ranking
from revelio.types import Incident, Query
from tests.cli.made import CommandLine
from tests.training.evaluation.made import CATALOG_YAML, dataset, record

TEXTS = (("w6", "it hangs"),)


@dataclass(frozen=True, slots=True)
class Knows:
    """A ranker that always names the CPU of cart first."""

    name: str = "knows"
    text: TextEncoder = field(default_factory=HashingEncoder)

    def rank_after_runs(self, incident: Incident, queries: tuple[Query, ...]) -> Ranking:
        score = np.array(
            [-0.1 if q.id.startswith("meter.cpu") and ("container", "cart") in q.bindings else -5.0 for q in queries]
        )
        nothing = np.zeros(len(queries), dtype=np.float32)
        return Ranking(queries, score.astype(np.float32), nothing, nothing, 0.2)


@pytest.fixture
def folder(revelio: CommandLine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    catalog = tmp_path / "tools.yaml"
    catalog.write_text(CATALOG_YAML)
    monkeypatch.setenv("REVELIO_CATALOG", f'["{catalog}"]')
    monkeypatch.setattr("revelio.ranker.artifact.load_ranker", lambda folder, catalog: Knows())
    records = (record("a", "repeat", "cart", TEXTS), record("b", "repeat", "orders", TEXTS), record("c", "no_fault", "", TEXTS))
    return dataset(tmp_path / "made", *records, record("t", "train", "cart", (("w1", "slow"),)))


def test_json_has_splits_baselines_and_ablations(revelio: CommandLine, folder: Path) -> None:
    ran = revelio("eval", "--dataset", folder, "--baselines", "--ablations", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["model"] == "knows"
    assert ran.json["splits"]["repeat"]["top1"] == 0.5
    assert ran.json["failed"] == 0
    assert set(ran.json["baselines"]) >= {"random", "frequency", "bm25", "tfidf_logistic", "anomaly"}
    assert ran.json["baselines"]["anomaly"]["repeat"]["top1"] == 1.0
    assert set(ran.json["ablations"]) == {"evidence_only", "report_only"}


def test_tables_and_page(revelio: CommandLine, folder: Path, tmp_path: Path) -> None:
    ran = revelio("eval", "--dataset", folder, "--split", "repeat", "--html", tmp_path / "page.html")
    assert ran.code == 0, ran.err
    assert "repeat: 2 incidents" in ran.out
    assert "0.500 [0.00, 1.00]" in ran.out
    assert "no_fault" not in ran.out
    assert "<svg" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [(("--split", "nonsense"), 2, "no split 'nonsense'"), (("--split", "new_app"), 1, "no incident in new_app")],
)
def test_mistakes_are_answered_in_words(revelio: CommandLine, folder: Path, words: tuple[str, ...], code: int, said: str) -> None:
    ran = revelio("eval", "--dataset", folder, *words)
    assert ran.code == code
    assert said in " ".join(ran.err.split())


def test_a_folder_that_is_no_dataset_is_an_error(revelio: CommandLine, folder: Path, tmp_path: Path) -> None:
    ran = revelio("eval", "--dataset", tmp_path / "gone")
    assert ran.code == 1
    assert "gone" in ran.err


def test_details_have_a_line_for_each_incident_and_report(revelio: CommandLine, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "details.jsonl"
    ran = revelio("eval", "--dataset", folder, "--details", path, "--json")
    assert ran.code == 0, ran.err
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    promised = "id split report writer rank accepted_rank first probability no_fault_probability candidates"
    assert all(set(promised.split()) <= line.keys() for line in lines)
    assert [(line["id"], line["split"], line["report"], line["writer"]) for line in lines] == [
        ("a", "repeat", "it hangs", "w6"),
        ("b", "repeat", "it hangs", "w6"),
        ("c", "no_fault", "it hangs", "w6"),
    ]
    hit, miss, control = lines
    assert (hit["rank"], hit["accepted_rank"], hit["candidates"]) == (1, 1, 9)
    assert hit["first"].startswith("meter.cpu")
    assert miss["rank"] > 1
    assert (control["rank"], control["accepted_rank"]) == (None, None)
    assert all(line["no_fault_probability"] == pytest.approx(0.2) and 0 < line["probability"] <= 1 for line in lines)
    hits = [line["rank"] == 1 for line in lines if line["split"] == "repeat"]
    assert sum(hits) / len(hits) == ran.json["splits"]["repeat"]["top1"]
    assert "details" not in ran.json


def test_several_datasets_need_a_catalog_each(revelio: CommandLine, folder: Path, tmp_path: Path) -> None:
    other = dataset(tmp_path / "other", record("d", "repeat", "cart", TEXTS))
    (other / "catalog.yaml").write_text(CATALOG_YAML)
    ran = revelio("eval", "--dataset", folder, "--dataset", other, "--split", "repeat", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["splits"]["repeat"]["incidents"] == 3
    ran = revelio("eval", "--dataset", folder, "--dataset", other, "--catalog", other / "catalog.yaml")
    assert ran.code == 2
    assert "2 datasets and 1 catalogs" in " ".join(ran.err.split())


def test_a_gate_lets_equal_figures_pass_and_ends_with_1_where_one_fell(
    revelio: CommandLine, folder: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps(revelio("eval", "--dataset", folder, "--json").json))
    assert revelio("eval", "--dataset", folder, "--gate", kept).code == 0
    better = json.loads(kept.read_text())
    better["splits"]["repeat"] |= {"top1": 0.9, "incidents": 66}
    kept.write_text(json.dumps(better))
    ran = revelio("eval", "--dataset", folder, "--gate", kept)
    assert ran.code == 1
    assert "repeat top1: 0.500, and 0.900" in ran.err


@pytest.mark.parametrize("content", [None, "no JSON", "{}", "[]"])
def test_a_gate_without_figures_is_refused_before_anything_is_measured(
    revelio: CommandLine, folder: Path, tmp_path: Path, content: str | None
) -> None:
    kept = tmp_path / "kept.json"
    if content is not None:
        kept.write_text(content)
    ran = revelio("eval", "--dataset", folder, "--gate", kept)
    assert ran.code == 2
    assert "kept.json" in ran.err.replace("\n", "")
