"""Catalog files: mistakes are told with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from revelio.catalog import bundled_catalog, load_catalog
from revelio.errors import CatalogError
from revelio.types import Blank, Reading

GOOD = """\
tool: queues
title: Queues
about: Message queues.
metrics:
  depth: {query: 'd{p="${project}"}', entity: queue, label: queue, noise: 2, absent_is_zero: true}
templates:
  - id: queues.depth
    title: Depth of ${queue}
    shows: Whether ${queue} fills up.
    body: {command: depth, queue: "${queue}", since: "${window}"}
    blanks: {queue: queue}
    reads: [{source: series, metric: depth}]
"""


def write(folder: Path, text: str, name: str = "queues.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_good_file_is_read_whole(tmp_path: Path) -> None:
    catalog = load_catalog(write(tmp_path, GOOD))
    [tool] = catalog.tools
    [template] = tool.templates
    [metric] = tool.metrics
    assert (tool.name, tool.title, tool.about) == ("queues", "Queues", "Message queues.")
    assert (template.tool, template.blanks, template.reads) == (
        "queues",
        (Blank("queue", "queue"),),
        (Reading("series", "depth"),),
    )
    assert "queue: ${queue}" in template.body
    assert (metric.name, metric.noise_floor, metric.direction, metric.absent_is_zero) == ("depth", 2.0, "up", True)


def test_several_tools_in_one_file(tmp_path: Path) -> None:
    second = GOOD.replace("queues", "topics")
    assert [t.name for t in load_catalog(write(tmp_path, f"{GOOD}---\n{second}---\n")).tools] == ["queues", "topics"]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("tool: queues", "tool: [queues", 2, "not valid YAML"),
        ("tool: queues", "tool: 'a b'", 1, "tool"),
        ("title: Queues", "titel: Queues", 2, "titel"),
        ("id: queues.depth", "id: 'queues depth'", 7, "templates.0.id"),
        ("shows: Whether", "showed: Whether", 9, "showed"),
        ("source: series", "source: stars", 12, "templates.0.reads.0.source"),
        ("metric: depth", "metric: depth, direction: sideways", 12, "direction"),
        ("Depth of ${queue}", "Depth of ${qeue}", 7, "${qeue} is not among its blanks"),
        ('queue: "${queue}"', 'queue: "${table}"', 7, "${table} is not among its blanks"),
        ("noise: 2", "noise: loud", 5, "metrics.depth.noise"),
        ("templates:", "template:", 6, "template"),
    ],
)
def test_a_mistake_is_told_with_file_and_line(tmp_path: Path, old: str, new: str, line: int, message: str) -> None:
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(CatalogError) as caught:
        load_catalog(path)
    told = str(caught.value)
    assert told.startswith(f"{path}:"), told
    assert message in told
    if "template:" not in new:
        assert told.startswith(f"{path}:{line}: "), told


def test_an_id_may_be_used_once_only(tmp_path: Path) -> None:
    first, second = write(tmp_path, GOOD), write(tmp_path, GOOD.replace("tool: queues", "tool: others"), "again.yaml")
    with pytest.raises(CatalogError, match=r"again\.yaml:7: template id 'queues\.depth' is already used at .*queues\.yaml:7"):
        load_catalog(first, second)


def test_a_tool_that_comes_again_is_extended(tmp_path: Path) -> None:
    more = GOOD.replace("queues.depth", "queues.age").replace("  depth:", "  age:").replace("title: Queues", "title: Others")
    (tool,) = load_catalog(write(tmp_path, GOOD), write(tmp_path, more, "more.yaml")).tools
    assert (tool.title, [t.id for t in tool.templates]) == ("Queues", ["queues.depth", "queues.age"])
    assert [m.name for m in tool.metrics] == ["depth", "age"]
    again = write(tmp_path, GOOD.replace("queues.depth", "queues.age"), "again.yaml")
    with pytest.raises(CatalogError, match=r"again\.yaml:5: tool 'queues' has a metric 'depth' already"):
        load_catalog(write(tmp_path, GOOD), again)


def test_a_file_that_contains_itself_is_no_endless_story(tmp_path: Path) -> None:
    with pytest.raises(CatalogError):
        load_catalog(write(tmp_path, "tool: a\ntemplates: &t [*t]\n"))


def test_a_key_that_is_written_twice_is_a_mistake(tmp_path: Path) -> None:
    twice = GOOD.replace("title: Queues", "title: Queues\ntitle: Topics", 1)
    with pytest.raises(CatalogError, match=r"queues\.yaml:3: 'title' is written twice here"):
        load_catalog(write(tmp_path, twice))


@pytest.mark.parametrize("text", ["", "---\n", "# nothing\n"])
def test_a_file_without_a_tool_is_a_mistake(tmp_path: Path, text: str) -> None:
    with pytest.raises(CatalogError, match="no tool is declared"):
        load_catalog(write(tmp_path, text))


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words\n", "5\n"])
def test_a_file_of_something_else_is_a_mistake(tmp_path: Path, text: str) -> None:
    with pytest.raises(CatalogError, match=r"queues\.yaml:1: document"):
        load_catalog(write(tmp_path, text))


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="cannot be read"):
        load_catalog(tmp_path / "missing.yaml")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00tool")
    with pytest.raises(CatalogError, match="cannot be read"):
        load_catalog(binary)


def test_an_unknown_template_says_where_to_look() -> None:
    with pytest.raises(CatalogError, match="revelio catalog list"):
        bundled_catalog().template("prometheus.mood")


def test_the_digest_changes_with_any_template(tmp_path: Path) -> None:
    one = load_catalog(write(tmp_path, GOOD)).digest
    other = load_catalog(write(tmp_path, GOOD.replace("fills up", "runs dry"), "other.yaml")).digest
    assert one != other
    assert load_catalog(write(tmp_path, GOOD)).digest == one
