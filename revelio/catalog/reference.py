"""The catalog as a page of documentation: ``python -m revelio.catalog.reference > docs/reference/catalog.md``."""

from __future__ import annotations

import sys

from revelio.catalog import Catalog, Metric, ToolSpec, bundled_catalog
from revelio.types import QueryTemplate, Reading

_HEAD = """# Catalog

Every question that the bundled catalog can ask, by tool. `python -m revelio.catalog.reference` writes this page; change the
YAML files in `revelio/catalog` instead. How to add to them: [add a tool](../how-to/add-a-tool.md).
"""


def reference(catalog: Catalog) -> str:
    """The page in Markdown."""
    total = f"{len(catalog.templates)} templates for {len(catalog.tools)} tools.\n"
    return "\n".join([_HEAD, total, *(_tool(tool) for tool in catalog.tools)])


def _tool(tool: ToolSpec) -> str:
    lines = [f"## {tool.title} (`{tool.name}`)", "", tool.about, ""]
    for template in tool.templates:
        lines += _template(template)
    if tool.metrics:
        lines += [
            "### What a snapshot reads",
            "",
            "| series | of each | unit | bad when it goes | noise floor |",
            "|---|---|---|---|---|",
        ]
        lines += [_metric(metric) for metric in tool.metrics]
        lines.append("")
    return "\n".join(lines)


def _template(template: QueryTemplate) -> list[str]:
    blanks = ", ".join(f"`{b.name}` ({b.kind.replace('_', ' ')})" for b in template.blanks) or "none"
    reads = ", ".join(_reading(r) for r in template.reads) or "nothing"
    return [
        f"### {template.title}",
        "",
        f"`{template.id}` · blanks: {blanks} · reads: {reads}",
        "",
        template.shows,
        "",
        "```",
        template.body.strip(),
        "```",
        "",
    ]


def _reading(reading: Reading) -> str:
    way = {"up": "more", "down": "less", "both": "more or less"}[reading.direction]
    return f"{way} `{reading.metric or 'anything'}` in {reading.source}"


def _metric(metric: Metric) -> str:
    noise = f"{metric.noise_floor:g} {metric.unit}".strip()
    return f"| `{metric.name}` | {metric.entity} | {metric.unit or '-'} | {metric.direction} | {noise} |"


if __name__ == "__main__":
    sys.stdout.write(reference(bundled_catalog()))
