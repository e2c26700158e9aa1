"""Imports on disk: they survive, are listed, replaced and removed, and a damaged one harms nothing."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from revelio.catalog import bundled_catalog
from revelio.catalog.imports.files import address_of, listed, remove, with_imports
from revelio.errors import InvalidInputError, NotFoundError
from revelio.service.active_model import ActiveModel
from revelio.service.import_sources import import_questions, refresh
from revelio.settings import Settings
from revelio.settings.imports import ImportSettings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(imports=ImportSettings(folder=tmp_path / "catalog"), database="sqlite://")


def rules(path: Path, *metrics: str) -> Path:
    listed = [{"alert": f"High{m}", "expr": f"{m} > 5", "annotations": {"summary": f"{m} is high"}} for m in metrics]
    path.write_text(json.dumps({"groups": [{"name": "g", "rules": listed}]}), encoding="utf-8")
    return path


def test_imported_questions_are_templates_of_the_catalog(settings: Settings, tmp_path: Path) -> None:
    made = import_questions(settings, "rules", str(rules(tmp_path / "shop.yml", "queue_size")))
    assert (made.name, made.questions, made.problems) == ("shop", 1, ())
    catalog, troubles = with_imports(bundled_catalog(), settings.imports.folder)
    [template] = [t for t in catalog.templates if t.origin]
    assert troubles == ()
    assert (template.tool, template.body) == ("prometheus", "queue_size")
    assert template.origin is not None and "alerting rule Highqueue_size" in template.origin.credit
    assert [r.metric for r in template.reads] == [template.id]


def test_a_changed_source_updates_and_a_lost_one_keeps_what_was_there(settings: Settings, tmp_path: Path) -> None:
    source = rules(tmp_path / "shop.yml", "queue_size")
    import_questions(settings, "rules", str(source))
    model = ActiveModel(settings)
    before = model.catalog
    assert model.catalog is before
    rules(source, "queue_size", "pool_size")
    assert [f.questions for f in refresh(settings)] == [2]
    assert len(model.catalog.templates) == len(before.templates) + 1
    source.unlink()
    [lost] = refresh(settings)
    assert (lost.questions, len(lost.problems)) == (2, 1)
    assert [f.questions for f in listed(settings.imports.folder)] == [2]


def test_an_import_can_be_removed(settings: Settings, tmp_path: Path) -> None:
    import_questions(settings, "rules", str(rules(tmp_path / "shop.yml", "x")))
    remove(settings.imports.folder, "shop")
    assert listed(settings.imports.folder) == ()
    with pytest.raises(NotFoundError, match="there are: none"):
        remove(settings.imports.folder, "../shop")


def test_a_damaged_file_is_left_out_and_named(settings: Settings, tmp_path: Path) -> None:
    import_questions(settings, "rules", str(rules(tmp_path / "shop.yml", "x")))
    (settings.imports.folder / "other.yaml").write_text("not: [yaml", encoding="utf-8")
    shop = settings.imports.folder / "shop.yaml"
    shop.write_text(shop.read_text(encoding="utf-8").replace("tool:", "tol:"), encoding="utf-8")
    catalog, troubles = with_imports(bundled_catalog(), settings.imports.folder)
    assert len(catalog.templates) == len(bundled_catalog().templates)
    assert len(troubles) == 1
    assert [f.name for f in listed(settings.imports.folder) if f.problems] == ["other"]


def test_broken_files_in_a_folder_are_problems_and_the_rest_is_imported(settings: Settings, tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    rules(folder / "good.yml", "x")
    (folder / "bad.yml").write_text("{", encoding="utf-8")
    (folder / "binary.yml").write_bytes(b"\xff\xfe\x00")
    made = import_questions(settings, "rules", str(folder))
    assert made.questions == 1
    assert sorted(p.split(":")[0] for p in made.problems) == ["bad.yml", "binary.yml"]


@pytest.mark.parametrize(("source", "name", "said"), [("nowhere", "", "no file, folder or address"), (".", "../x", "no name")])
def test_what_is_no_source_is_refused(settings: Settings, source: str, name: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        import_questions(settings, "runbooks", source if source != "." else str(Path(__file__).parents[3] / "docs"), name)


def test_the_digest_of_the_bundled_catalog_knows_no_origin() -> None:
    assert "origin" not in repr(bundled_catalog().digest)


def test_the_secret_of_a_source_is_kept_apart_and_used_again(tmp_path: Path) -> None:
    answer = {"data": {"groups": [{"name": "g", "rules": [{"type": "alerting", "name": "Slow", "query": "up == 0"}]}]}}
    folder = tmp_path / "catalog"
    settings = Settings(imports=ImportSettings(folder=folder))
    with HTTPServer(host="127.0.0.1") as server:
        rightful = {"Authorization": "Basic " + base64.b64encode(b"me:pw-c4n/ary").decode()}
        server.expect_request("/api/v1/rules", headers=rightful).respond_with_json(answer)
        address = f"http://me:pw-c4n%2Fary@127.0.0.1:{server.port}"
        read = import_questions(settings, "rules", address)
        again = tuple(refresh(settings))
    public = f"http://127.0.0.1:{server.port}"
    assert read.source == public.replace("//", "//***@")
    assert read.name == f"127-0-0-1-{server.port}"
    assert [(i.questions, i.problems) for i in again] == [(1, ())]
    imported = folder / f"{read.name}.yaml"
    assert "c4n" not in imported.read_text(encoding="utf-8")
    assert f"{public}/rules" in imported.read_text(encoding="utf-8")
    kept = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    assert [path for path in kept if "c4n" in path.read_text(encoding="utf-8")] == [folder / ".addresses" / read.name]
    remove(folder, read.name)
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_an_import_of_an_earlier_version_is_listed_without_its_password(tmp_path: Path) -> None:
    told = {"name": "x", "kind": "rules", "source": "http://me:c4nary@h", "at": 1.0, "questions": 0, "problems": []}
    head = f"# revelio import: {json.dumps(told)}\n"
    (tmp_path / "x.yaml").write_text(head, encoding="utf-8")
    assert [one.source for one in listed(tmp_path)] == ["http://***@h"]
    assert address_of(tmp_path, "x") == "http://me:c4nary@h"
