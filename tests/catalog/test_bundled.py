"""The bundled catalog keeps its own rules, and its page in the documentation tells the truth."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from revelio.catalog import ToolSpec, bundled_catalog
from revelio.catalog.reference import reference
from revelio.tools.registry import TOOLS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "catalog.md"
TEMPLATES = bundled_catalog().templates
_CHANGES = {"answers", "state", "started", "oom", "limits", "config", "health", ""}
_SPANS = {"p95_ms", "median_ms", "self_ms", "errors", "count"}
_LOGS = {"error", "warning", "problems", "new_problems", ""}


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(bundled_catalog()), (
        "run: python -m revelio.catalog.reference > docs/reference/catalog.md"
    )


def test_every_bundled_tool_has_an_implementation() -> None:
    assert {t.name for t in bundled_catalog().tools} == set(TOOLS)


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda t: t.id)
def test_a_template_says_what_it_asks_and_what_it_reads(template) -> None:  # type: ignore[no-untyped-def]
    assert template.id.startswith(f"{template.tool}.")
    assert template.shows.endswith(".")
    assert template.reads
    for blank in template.blanks:
        assert "${" + blank.name + "}" in template.title, f"{blank.name} is not in the title"
        assert "${" + blank.name + "}" in template.body, f"{blank.name} is not in the body"


@pytest.mark.parametrize("tool", bundled_catalog().tools, ids=lambda t: t.name)
def test_what_a_template_reads_is_something_that_a_snapshot_holds(tool: ToolSpec) -> None:
    known = {"series": {m.name for m in tool.metrics} | {"open.series"}, "changes": _CHANGES, "spans": _SPANS, "logs": _LOGS}
    for template in tool.templates:
        for reading in template.reads:
            assert reading.metric in known[reading.source], f"{template.id} reads {reading.metric}"


def test_titles_tell_templates_apart() -> None:
    titles = [t.title for t in TEMPLATES]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(
    ("template", "columns"),
    [
        (
            "postgres.blocking",
            (
                *("blocked.pid AS", "AS blocked,", "waited, s", "blocking pid", "AS blocking,", "its state"),
                *("its transaction, s", "blocked statement", "blocking statement"),
            ),
        ),
        (
            "postgres.locks",
            ("a.pid", "a.state", "AS lock", '"table"', "l.mode", "l.granted", "transaction, s", "blocks sessions", "statement"),
        ),
    ],
)
def test_the_roles_of_a_template_are_in_the_order_of_its_columns(template: str, columns: tuple[str, ...]) -> None:
    (tool,) = (t for t in bundled_catalog().tools if t.name == "postgres")
    found = bundled_catalog().template(template)
    sql = yaml.safe_load(found.body)["sql"]
    places = [sql.index(column) for column in columns]
    assert places == sorted(places)
    assert len(tool.form_of(found).roles) == len(columns)


def test_columns_that_count_since_the_window_are_columns_of_the_query() -> None:
    for template in bundled_catalog().templates:
        body = yaml.safe_load(template.body)
        for column in body.get("since", {}) if isinstance(body, dict) else ():
            assert f'"{column}"' in body["sql"] or f" AS {column}" in body["sql"] or column in body["sql"].split(), template.id
