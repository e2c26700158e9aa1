"""Images: pulled where they can be, else made; made again only when an input changes; slow ingredients made once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import docker
import pytest
from docker.errors import DockerException, ImageNotFound

from testbed.errors import StackError
from testbed.images import Mode, artifacts, ensure
from testbed.images.artifacts import Artifact, Run, obtain
from testbed.images.build import INPUTS_LABEL
from testbed.images.recipes import BACKENDS, Recipe
from testbed.progress import Step, silent
from testbed.stack.project import shared_services


@pytest.fixture
def context(tmp_path: Path) -> Path:
    folder = tmp_path / "context"
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM scratch\n")
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REVELIO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class Engine:
    """Stands in for the engine: which images it has (tag -> labels), whether its registry lets it pull, and what was built."""

    def __init__(self, have: dict[str, dict[str, str]], reachable: bool = False) -> None:
        self.have, self.reachable = have, reachable
        self.pulled: list[str] = []
        self.built: list[str] = []
        self.images = SimpleNamespace(get=self._get, pull=self._pull)

    def _get(self, tag: str) -> SimpleNamespace:
        if tag not in self.have:
            raise ImageNotFound(tag)
        return SimpleNamespace(labels=self.have[tag])

    def _pull(self, tag: str) -> None:
        if not self.reachable:
            raise DockerException("no such host")
        self.pulled.append(tag)


def run_ensure(engine: Engine, monkeypatch: pytest.MonkeyPatch, mode: Mode, *recipes: Recipe) -> None:
    def build(client: object, recipe: Recipe, artifact: Path | None, progress: object) -> None:
        engine.built.append(recipe.tag)

    monkeypatch.setattr("testbed.images.pull_or_make.build", build)
    monkeypatch.setattr("testbed.images.pull_or_make._answers", lambda tag: engine.reachable)
    ensure(cast("docker.DockerClient", engine), recipes, mode, silent)


def test_a_recipes_hash_follows_its_files_their_mode_and_its_base(context: Path) -> None:
    base = Recipe("base", context)
    recipe = Recipe("image", context, base=base)
    before = recipe.inputs()
    assert before == Recipe("image", context, base=base).inputs() != base.inputs()
    (context / "__pycache__").mkdir()
    (context / "__pycache__" / "x.pyc").write_text("compiled")
    assert recipe.inputs() == before
    (context / "start.sh").write_text("#!/bin/sh\n")
    added = recipe.inputs()
    (context / "start.sh").chmod(0o755)
    assert len({before, added, recipe.inputs()}) == 3


def test_only_the_named_parts_of_a_context_count(context: Path) -> None:
    (context / "kit").mkdir()
    recipe = Recipe("image", context, parts=("Dockerfile", "kit"))
    before = recipe.inputs()
    (context / "notes.txt").write_text("not part of it")
    assert recipe.inputs() == before
    (context / "kit" / "log.py").write_text("part of it")
    assert recipe.inputs() != before


def test_auto_makes_what_is_missing_with_its_base_first(context: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = Recipe("base", context)
    engine = Engine({})
    run_ensure(engine, monkeypatch, "auto", Recipe("a", context, base=base), Recipe("b", context, base=base))
    assert engine.built == ["base", "a", "b"] and engine.pulled == []


def test_auto_pulls_published_images_where_a_registry_answers(context: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine({}, reachable=True)
    run_ensure(engine, monkeypatch, "auto", Recipe("a", context), Recipe("ours", context, published=False))
    assert engine.pulled == ["a"] and engine.built == ["ours"]


def test_what_is_there_is_kept_until_its_inputs_change(context: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe("a", context)
    engine = Engine({"a": {INPUTS_LABEL: recipe.inputs()}, "official": {}})
    run_ensure(engine, monkeypatch, "auto", recipe, Recipe("official", context))
    assert engine.built == []
    (context / "Dockerfile").write_text("FROM scratch\nUSER nobody\n")
    run_ensure(engine, monkeypatch, "auto", recipe, Recipe("official", context))
    assert engine.built == ["a"]


def test_make_replaces_a_pulled_image(context: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine({"official": {}}, reachable=True)
    run_ensure(engine, monkeypatch, "make", Recipe("official", context))
    assert engine.built == ["official"] and engine.pulled == []


def test_pull_says_what_to_do_when_no_registry_answers(context: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StackError, match="--images make"):
        run_ensure(Engine({}), monkeypatch, "pull", Recipe("a", context))


def artifact(make: Any, program: str = "sh") -> Artifact:
    return Artifact("thing", "1.0", "thing.bin", program, "some-package", make)


def test_an_artifact_is_made_once_and_then_taken_from_the_cache(cache: Path) -> None:
    made: list[Path] = []

    def make(run: Run, folder: Path) -> None:
        run("sh", "-c", "echo made > thing.bin", cwd=folder)
        made.append(folder)

    steps: list[Step] = []
    first = obtain(artifact(make), steps.append)
    assert first == cache / "thing" / "1.0" / "thing.bin" and first.read_text() == "made\n"
    assert obtain(artifact(make), steps.append) == first
    assert len(made) == 1 and not made[0].exists()
    assert [step.phase for step in steps] == ["running", "done"]


def test_a_failed_artifact_leaves_nothing_and_says_what_the_tool_said(cache: Path) -> None:
    def make(run: Run, folder: Path) -> None:
        run("sh", "-c", "echo half > thing.bin; echo the compiler ran out of ideas >&2; exit 3", cwd=folder)

    with pytest.raises(StackError, match="the compiler ran out of ideas"):
        obtain(artifact(make), silent)
    assert not (cache / "thing" / "1.0" / "thing.bin").exists()


def test_a_missing_tool_is_named_with_its_package() -> None:
    with pytest.raises(StackError, match=r"no-such-compiler.*some-package"):
        obtain(artifact(None, program="no-such-compiler"), silent)


def test_what_takes_longest_starts_first() -> None:
    assert BACKENDS[-1].artifact == artifacts.JAEGER


def test_every_image_of_the_compose_file_can_be_made() -> None:
    assert {service["image"] for service in shared_services().values()} == {recipe.tag for recipe in BACKENDS}
