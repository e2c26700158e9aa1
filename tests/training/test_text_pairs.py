"""What the report encoder learns from: pairs without causes, and without what tests are made of."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from revelio.catalog import Catalog
from revelio.errors import DatasetError
from revelio.systems.incidents.dataset import LabelledIncident
from revelio.systems.incidents.exchange import Report
from revelio.training.alert_texts import AlertText, sources
from revelio.training.text_pairs import MAX_PER_TARGET, symptom, text_pairs
from tests.ranker.conftest import labelled


def reported(*reports: Report) -> LabelledIncident:
    incident = labelled(1, "hog", "alpha")
    return replace(incident, record=replace(incident.record, reports=reports))


def many() -> list[Report]:
    return [Report(f"the {page} page is slow, {n}", "w1", f"shop/{page}/slow") for page in "abcd" for n in range(10)]


def alerts(path: Path) -> Path:
    lines = [
        {"text": f"{name} is down {n}", "query": f"up{{job='{name}-{n}'}}", "about": name, "source": "ours", "licence": "MIT"}
        for name in ("redis", "mysql", "kafka", "etcd", "nginx", "consul")
        for n in range(30)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_reports_go_with_their_symptom_and_count_once(catalog: Catalog) -> None:
    found = text_pairs([reported(*many(), Report("no cell", "w1")), reported(*many())], catalog)["reports"]
    assert len(found) == 40
    assert ("the a page is slow, 1", "a, slow") in {(p.said, p.meant) for p in found}
    assert symptom("shop/_site/site_down#3") == "site down"


def test_too_few_reports_and_no_alerts_teach_nothing(catalog: Catalog) -> None:
    assert text_pairs([reported(Report("slow", "w1", "a/b/slow"))], catalog) == {}


def test_alerts_of_held_back_subjects_are_never_learned(catalog: Catalog, tmp_path: Path) -> None:
    path = alerts(tmp_path / "alerts.jsonl")
    found = text_pairs([], catalog, [path])["alerts"]
    subjects = {pair.said.split()[0] for pair in found}
    assert subjects
    assert subjects == {pair.group for pair in found}
    assert not any(AlertText("", "", subject).held_back for subject in subjects)
    assert len(subjects) < 6
    assert sources([path]) == ("ours (MIT)",)


def test_a_log_line_or_report_that_is_said_everywhere_does_not_outweigh_the_others(catalog: Catalog) -> None:
    crowd = [Report(f"nothing works, {n}", "w1", "shop/_site/site_down") for n in range(500)]
    found = text_pairs([reported(*many(), *crowd)], catalog)["reports"]
    assert len(found) == 40 + MAX_PER_TARGET


def test_a_file_without_alerts_says_what_belongs_there(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"name": "up"}', encoding="utf-8")
    with pytest.raises(DatasetError, match="`text`, `query` and `about`"):
        text_pairs([], catalog, [tmp_path / "x.jsonl"])
    with pytest.raises(DatasetError, match=r"nowhere\.jsonl"):
        text_pairs([], catalog, [tmp_path / "nowhere.jsonl"])
